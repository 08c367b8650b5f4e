/^static bool carries_nothing/,/^}/s/case HF_PF_UNKNOWN:/case HF_PFS + 1:/;/^static bool carries_nothing/,/^}/s/case HF_PF_DOWN:/case HF_PF_DOWN: case HF_PF_UNKNOWN:/
