/if (!vm_apply(s, v, HF_VE_HOME_LOST, HF_WHY_HOST_LOST))/{
N
s/$/\n            if (v->possible == bit_of(n))\n                clear_bit(s, v, n);/
}
