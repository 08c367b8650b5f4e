s/^        vm_doubt_all(s);/        (void)vm_doubt_all;/
