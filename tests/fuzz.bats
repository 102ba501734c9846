# Bytes from elsewhere crash nothing: the corpus of the fuzzer, and changes of it by chance. tests/fuzz/run.sh looks longer.
load helper

setup() { corpus=$BATS_TEST_DIRNAME/fuzz/corpus; }

# replay TARGET COUNT
replay() {
  local seed=$RANDOM
  echo "seed $seed"
  "$(dirname "$RLOCK")/$1_fuzz" "$2" "$seed" "$corpus/$1"/*
}

@test "durations" { replay duration 300000; }

@test "URLs of servers" { replay address 200000; }

@test "URLs of etcd and ZooKeeper" { replay ensemble_address 200000; }

@test "answers of etcd's gateway" { replay gateway 50000; }

@test "replies of servers" { replay reply 200000; }

@test "configuration files" { replay config 5000; }

@test "answers of ZooKeeper" { replay jute 200000; }
