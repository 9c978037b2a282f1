#!/bin/bash
# Run for $1 seconds, print $3, exit with $2. Write the truth of each attempt to $LAB_STAMPS.
stamp() {
  echo "$1 $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} $SLURMD_NODENAME $EPOCHREALTIME ${SLURM_STEP_GPUS:-${SLURM_JOB_GPUS:-none}}" \
    >> "$LAB_STAMPS/$SLURM_JOB_ID"
}
killed() { stamp killed; exit 143; }
trap killed TERM
stamp start
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
  export -f stamp
  srun --overlap --ntasks-per-node=1 bash -c 'stamp server'
fi
echo "running on $SLURM_JOB_NODELIST"
sleep "$1" &
wait $! || killed # a signal may reach sleep first
[ -n "$3" ] && printf '%b\n' "$3"
stamp end
[ "$2" = KILL ] && kill -KILL $$
exit "$2"
