s/\[HF_PF_HOLD\] = 9/[HF_PF_HOLD] = 12/
