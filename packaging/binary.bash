# What packages of a given binary share. Sourced by debian.sh and image.sh, which have `die` (says why and ends).
# shellcheck shell=bash

# source_date: what the times in a package are: SOURCE_DATE_EPOCH, or else that of the commit. In the top folder.
source_date() {
    # git hides the commit from whoever does not own the files, such as root in a container.
    echo "${SOURCE_DATE_EPOCH:-$(git -c safe.directory="$PWD" log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}"
}

# processor_of BINARY: amd64 or arm64, as Debian and images call it.
processor_of() {
    case $(readelf --file-header "$1" | sed -n 's/^ *Machine: *//p') in
        *X86-64) echo amd64 ;;
        AArch64) echo arm64 ;;
        *) die "$1 is not a program for x86_64 or aarch64" ;;
    esac
}
