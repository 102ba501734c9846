# Debian source packages, downloaded and checked by apt without a change to the machine's own sources and lists.
# Sourced by install-deps.sh and release.sh, which have `die` (says why and ends) and `quietly` (runs a command, silent
# unless it fails, and then dies). Needs apt, dpkg-dev, and debian-archive-keyring as new as the suites.
# shellcheck shell=bash

# debian_entry LABEL: the address and the keyring of the machine's own entry for Debian or Debian-Security, in either format of
# sources, as two lines. An entry that names no keyring gets Debian's own, which is narrower than all keys that apt trusts.
debian_entry() {
    local uri entry keyring
    # shellcheck disable=SC2016 # for apt
    entry=$(apt-get indextargets --format '$(REPO_URI) $(SOURCESENTRY)' \
        'Identifier: Packages' 'Component: main' 'Origin: Debian' "Label: $1" | sed '/^cdrom:/d')
    read -r uri entry <<<"$entry"
    [[ -n $uri && -n $entry ]] || return 1
    local file=${entry%:*} line=${entry##*:}
    if [[ $file == *.sources ]]; then
        keyring=$(sed -nE 's/^Signed-By:[[:space:]]*(\/[^[:space:]]+).*/\1/Ip' "$file")
    else
        keyring=$(sed -nE "${line}s/^[^#]*\[.*signed-by=(\/[^],[:space:]]+).*/\1/p" "$file")
    fi
    read -r keyring _ <<<"$keyring"
    printf '%s\n%s\n' "$uri" "${keyring:-/usr/share/keyrings/debian-archive-keyring.gpg}"
}

# open_sources DIRECTORY SUITE...: an apt of its own in DIRECTORY, which knows the source packages of these suites and of their
# security suites, unless without_security is set. It checks the Release files against the keyring and the files against those; whatever does not match ends
# the script.
open_sources() {
    apt_directory=$1
    shift
    local entry security
    mapfile -t entry < <(debian_entry Debian)
    ((${#entry[@]} == 2)) || die "apt has no Debian entry to get source packages of $* from"
    mapfile -t security < <(debian_entry Debian-Security)
    # Where mirrors have it.
    ((${#security[@]} == 2)) || security=("$(sed -E 's|/debian/*$|/debian-security/|' <<<"${entry[0]}")" "${entry[1]}")
    mkdir -p "$apt_directory"/{parts,lists/partial,cache/archives/partial,download}
    {
        source_entry "${entry[@]}" "$@"
        [[ -n ${without_security-} ]] || source_entry "${security[@]}" "${@/%/-security}"
    } >"$apt_directory/parts/source.sources"
    apt_options=(
        -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt_directory/parts"
        -o Dir::State::Lists="$apt_directory/lists" -o Dir::Cache="$apt_directory/cache"
        -o APT::Get::AllowUnauthenticated=false -o Acquire::AllowInsecureRepositories=false
        -o Acquire::Languages=none -o APT::Update::Error-Mode=any
    )
    if ((EUID == 0)); then
        # apt downloads as the user _apt, who must be able to get here and write here.
        chmod 755 "$apt_directory"
        ! id -u _apt >/dev/null 2>&1 ||
            chown _apt "$apt_directory"/{download,lists/partial,cache/archives/partial}
    fi
    quietly apt-get "${apt_options[@]}" update
}

# source_entry URI KEYRING SUITE...: as apt's sources have it.
source_entry() {
    printf 'Types: deb-src\nURIs: %s\nSigned-By: %s\nSuites: %s\nComponents: main\n\n' "$1" "$2" "${*:3}"
}

# source_version PACKAGE/SUITE: the newest version that the suite or its security suite has.
source_version() {
    local version newest='' suite=${1#*/}
    while read -r version; do
        if [[ -z $newest ]] || dpkg --compare-versions "$version" gt "$newest"; then newest=$version; fi
    done < <(apt-cache "${apt_options[@]}" madison "${1%/*}" |
        awk -F ' *[|] *' -v suite="$suite" '$3 ~ " " suite "(-security)?/main Sources" { print $2 }')
    [[ -n $newest ]] || die "Debian has no source package $1"
    echo "$newest"
}

# source_files PACKAGE/SUITE: a line for each file of the source package: PACKAGE VERSION SUITE FILE BYTES SHA256:SUM.
source_files() {
    local version
    version=$(source_version "$1") || exit
    apt-get "${apt_options[@]}" --quiet=2 --only-source --print-uris source "${1%/*}=$version" |
        sed -nE "s|^'[^']*' |${1%/*} $version ${1#*/} |p"
}

# extract_source PACKAGE/SUITE DIRECTORY: downloads it, and makes DIRECTORY of it, Debian's patches applied.
extract_source() {
    local version dsc
    version=$(source_version "$1") || exit
    (cd "$apt_directory/download" && quietly apt-get "${apt_options[@]}" --only-source source --download-only "${1%/*}=$version") ||
        exit
    mkdir -p "$(dirname -- "$2")"
    dsc=("$apt_directory/download/${1%/*}"_*.dsc)
    quietly dpkg-source --extract "${dsc[0]}" "$2"
}
