set -u
umask 027
export TZ=UTC LC_ALL=C SLURM_BITSTR_LEN=0 SLURM_TIME_FORMAT=standard

# points of a Prometheus query: it answers at most 11,000; and seconds between them
points=2000
step=30
state="$folder/.state"
lock="$folder/.lock"
log="$folder/.log"
mkdir -p "$state" "$folder/telemetry" || exit 1

# one run at a time: the lock of a run that was killed is removed after ten minutes
if ! mkdir "$lock" 2>/dev/null; then
  pid=$(cat "$lock/pid" 2>/dev/null)
  if [ -z "$(find "$lock" -prune -mmin +10)" ] || kill -0 "${pid:-0}" 2>/dev/null; then
    exit 0
  fi
  rm -rf "$lock"
  mkdir "$lock" || exit 0
fi
echo $$ >"$lock/pid"
trap 'rm -rf "$lock"; find "$folder" -name ".new.*" -exec rm -f {} +' EXIT
trap 'exit 1' HUP INT TERM

now=$(date +%s)
today=$(date -d "@$now" +%F)
yesterday=$(date -d "@$((now - 86400))" +%F)
hour=$(date -d "@$now" +%FT%H)
failed=0

fail() {
  echo "$(date +%FT%TZ) $*" >>"$log"
  failed=1
}

# save FILE COMMAND ...: a file appears whole or not at all
save() {
  target=$1
  shift
  new="${target%/*}/.new.${target##*/}"
  if "$@" >"$new" 2>>"$log"; then
    case $target in
      *.gz) gzip <"$new" >"$new.gz" && mv "$new.gz" "$target" && rm -f "$new" ;;
      *) mv "$new" "$target" ;;
    esac || fail "cannot write $target"
  else
    fail "failed: $*"
    rm -f "$new"
    return 1
  fi
}

jobs_between() {
  @sacct@
}

queue() {
  date '+# %FT%TZ'
  scontrol show job -d
}

telemetry() {
  curl -sfSG --max-time 300 "$prometheus/api/v1/query_range" \
    --data-urlencode "query=$metrics" \
    --data-urlencode "start=$1" --data-urlencode "end=$2" --data-urlencode "step=$step"
}

# every run: pending jobs with reasons, running jobs with GPUs
save "$folder/queue_$(date -d "@$now" +%FT%H-%M-%SZ).txt.gz" queue

# every hour: the jobs of the day so far, and the reservations
if [ "$(cat "$state/hour" 2>/dev/null)" != "$hour" ]; then
  save "$folder/reservations_$hour.txt" scontrol show reservation
  save "$folder/sacct_$today.txt" jobs_between "$today" now && echo "$hour" >"$state/hour"
fi

# every day: jobs and failed servers of the day before, servers, limits; prints of the queue of
# past days in one file
if [ "$(cat "$state/day" 2>/dev/null)" != "$today" ]; then
  since=$yesterday
  [ -f "$state/day" ] || since="now-${history_days}days"
  save "$folder/sacct_$yesterday.txt" jobs_between "$since" "$today"
  done_day=$?
  save "$folder/events_$yesterday.txt" sacctmgr show event -P start="$since"
  save "$folder/nodes_$today.txt" scontrol show node -o
  save "$folder/partitions_$today.txt" scontrol show partition
  save "$folder/qos_$today.txt" sacctmgr show qos -P
  save "$folder/associations_$today.txt" sacctmgr show assoc -P \
    format=Cluster,Account,ParentName,User,Partition,Share,GrpTRES,GrpJobs,MaxJobs
  for first in "$folder"/queue_*T*.txt.gz; do
    day=${first##*/queue_}
    day=${day%%T*}
    if [ ! -f "$first" ] || [ "$day" = "$today" ]; then continue; fi
    new="$folder/.new.queue_$day.txt.gz"
    # gzipped files one after the other are a gzipped file
    if [ -f "$folder/queue_$day.txt.gz" ]; then cat "$folder/queue_$day.txt.gz"; fi >"$new"
    cat "$folder/queue_$day"T*.txt.gz >>"$new" &&
      mv "$new" "$folder/queue_$day.txt.gz" && rm -f "$folder/queue_$day"T*.txt.gz
  done
  find "$folder" -type f -mtime +"$keep_days" ! -path "$state/*" ! -path "$folder/bin/*" \
    -exec rm -f {} +
  [ "$done_day" -eq 0 ] && echo "$today" >"$state/day"
fi

# every hour: telemetry up to a minute ago
if [ -n "$prometheus" ] && [ "$(cat "$state/telemetry-hour" 2>/dev/null)" != "$hour" ]; then
  from=$(cat "$state/telemetry" 2>/dev/null || echo $((now - history_days * 86400)))
  from=$((from / step * step))
  until=$(((now - 60) / step * step))
  while [ "$from" -lt "$until" ]; do
    end=$((from + points * step))
    [ "$end" -gt "$until" ] && end=$until
    save "$folder/telemetry/gpus_$(date -d "@$from" +%FT%H-%M-%SZ).json.gz" \
      telemetry "$from" "$((end - step))" || break
    from=$end
    echo "$from" >"$state/telemetry"
  done
  [ "$from" -ge "$until" ] && echo "$hour" >"$state/telemetry-hour"
fi
exit "$failed"
