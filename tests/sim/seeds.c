#include "tests/sim/seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/swarm.h"

int seeds_run(const char *file)
{
    char line[400];
    unsigned count = 0;
    unsigned bad = 0;
    FILE *in = fopen(file, "r");
    if (in == NULL) {
        perror(file);
        return 2;
    }
    while (fgets(line, sizeof line, in) != NULL) {
        char *end;
        struct swarm_settings settings = {0};
        uint64_t seed = strtoull(line, &end, 10);
        if (line[0] == '#' || end == line)
            continue;
        settings.generator = (unsigned)strtoul(end, NULL, 10);
        count++;
        bad += swarm_one(seed, &settings, false, 0, NULL) != 0;
    }
    fclose(in);
    printf("kept seeds %u, violations %u\n", count, bad);
    return bad != 0 || count == 0;
}
