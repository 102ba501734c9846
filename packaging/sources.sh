# Debian source packages, downloaded and checked by apt without a change to the machine's own sources and lists.
# Sourced by install-deps.sh and release.sh, which have `die` (says why and ends) and `quietly` (runs a command, silent
# unless it fails, and then dies). Needs apt, dpkg-dev, and debian-archive-keyring as new as the suites.
# shellcheck shell=bash

# The address and the keyring of the machine's own Debian entry, in either format of sources, as two lines.
# An entry that names no keyring gets Debian's own, which is narrower than all keys that apt trusts.
debian_entry() {
    local uri entry keyring
    # shellcheck disable=SC2016 # for apt
    entry=$(apt-get indextargets --format '$(REPO_URI) $(SOURCESENTRY)' \
        'Identifier: Packages' 'Component: main' 'Origin: Debian' 'Label: Debian' | sed '/^cdrom:/d')
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

# open_sources DIRECTORY SUITE...: an apt of its own in DIRECTORY, which knows the source packages of these suites. It
# checks the Release file against the keyring and the files against that; whatever does not match ends the script.
open_sources() {
    apt_directory=$1
    shift
    local entry
    mapfile -t entry < <(debian_entry)
    ((${#entry[@]} == 2)) || die "apt has no Debian entry to get source packages of $* from"
    mkdir -p "$apt_directory"/{parts,lists/partial,cache/archives/partial,download}
    cat >"$apt_directory/parts/source.sources" <<-END
		Types: deb-src
		URIs: ${entry[0]}
		Suites: $*
		Components: main
		Signed-By: ${entry[1]}
	END
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

# source_files PACKAGE/SUITE: a line for each file of the source package: name, bytes, SHA256:sum.
source_files() {
    apt-get "${apt_options[@]}" --quiet=2 --print-uris source "$1" | sed -nE "s/^'[^']*' //p"
}

# extract_source PACKAGE/SUITE DIRECTORY: downloads it, and makes DIRECTORY of it, Debian's patches applied.
extract_source() {
    (cd "$apt_directory/download" && quietly apt-get "${apt_options[@]}" source --download-only "$1") || exit
    mkdir -p "$(dirname -- "$2")"
    local dsc=("$apt_directory/download/${1%/*}"_*.dsc)
    quietly dpkg-source --extract "${dsc[0]}" "$2"
}
