# What is installed and packed, for packages.bats and rpm.bats: `load packages`.
# shellcheck shell=bash

root=$BATS_TEST_DIRNAME/..

# listed DIRECTORY: the files below it, each with its mode.
listed() { (cd "$1" && find . ! -type d -printf '%m %P\n' | LC_ALL=C sort -k 2); }

# data PREFIX: all but the program that is installed below it, as listed prints it.
data() {
  local file mode
  {
    echo "644 $1/lib/systemd/system/rlock@.service"
    echo "644 $1/share/bash-completion/completions/rlock"
    echo "644 $1/share/fish/vendor_completions.d/rlock.fish"
    echo "644 $1/share/zsh/site-functions/_rlock"
    printf '644 %s\n' "$1"/share/doc/rlock/{{ARCHITECTURE,CHANGELOG,CONTRIBUTING,README,SECURITY}.md,LICENSE,{packaging/README,tests/{PROOFS,bench/{RESULTS,SCALE,TABLE}}}.md}
    echo "777 $1/share/doc/rlock/packaging/examples"
    for file in "$root"/man/*; do
      echo "644 $1/share/man/man${file##*.}/${file##*/}"
    done
    (cd "$root" && find docs -type f -printf "644 $1/share/doc/rlock/%p\n")
    for file in "$root"/packaging/examples/*; do
      mode=644
      [[ $file != *.sh ]] || mode=755
      echo "$mode $1/share/doc/rlock/examples/${file##*/}"
    done
  } | LC_ALL=C sort -k 2
}

# links_lead_somewhere DIRECTORY: those of the documents below it, to other files.
links_lead_somewhere() {
  local document link count=0
  while IFS=: read -r document link; do
    link=${link#']('}
    [[ $link != http* ]] || continue
    ((++count))
    [ -e "${document%/*}/$link" ] || {
      echo "$document: $link leads nowhere"
      return 1
    }
  done < <(grep -roE --include='*.md' '\]\([^)#]+' "$1")
  ((count > 30))
}
