#!/usr/bin/env python3
"""Writes what is inside a release as CycloneDX, for programs that look for known holes.

    sbom.py VERSION EPOCH <SOURCES

VERSION is rlock's, EPOCH the time of the release. SOURCES: a line for each file of a Debian source package, as
packaging/release.sh has it: PACKAGE VERSION SUITE FILE BYTES SHA256:SUM; a line ziglang==VERSION --hash=sha256:SUM for the
compiler; and a line NAME VERSION ziglang for each of its libraries. The same input gives the same bytes.
"""
import datetime
import json
import re
import sys
import uuid

LICENSES = {
    "openssl": "Apache-2.0", "hiredis": "BSD-3-Clause", "c-ares": "MIT", "http-parser": "MIT", "cli11": "BSD-3-Clause",
    "nlohmann-json3": "MIT", "musl": "MIT",
}


def of_debian(name, version, suite):
    reference = f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}?arch=source&distro={suite}"
    # Lists of holes name what the authors released: 2.1.2 of 2.1.2+ds-1.
    return {
        "type": "library", "bom-ref": reference, "supplier": {"name": "Debian"}, "name": name,
        "version": re.sub(r"[+~].*", "", version.rsplit("-", 1)[0]),
        "licenses": [{"license": {"id": LICENSES[name]}}], "purl": reference,
        "externalReferences": [], "properties": [{"name": "debian:source-version", "value": version}],
    }


def of_compiler(line):
    version, digest = line.removeprefix("ziglang==").split(" --hash=sha256:")
    reference = f"pkg:pypi/ziglang@{version}"
    return {
        "type": "library", "bom-ref": reference, "name": "ziglang", "version": version, "purl": reference,
        "description": "the compiler, of which compiler-rt, libunwind and libc++abi are linked too",
        "licenses": [{"license": {"id": "MIT"}}], "hashes": [{"alg": "SHA-256", "content": digest}],
    }


def of_its_libraries(name, version):
    reference = f"pkg:generic/{name.replace('+', '%2B')}@{version}"
    licence = {"license": {"id": LICENSES[name]}} if name in LICENSES else {"expression": "Apache-2.0 WITH LLVM-exception"}
    return {
        "type": "library", "bom-ref": reference, "name": name, "version": version, "purl": reference, "licenses": [licence],
    }


def read_components(lines):
    components = {}
    for line in lines:
        if line.startswith("ziglang=="):
            components["ziglang"] = of_compiler(line)
            continue
        if line.endswith(" ziglang"):
            name, version, _ = line.split()
            components[name] = of_its_libraries(name, version)
            continue
        name, version, suite, file, _, digest = line.split()
        component = components.setdefault(name, of_debian(name, version, suite))
        component["externalReferences"].append({
            "type": "source-distribution", "url": file,
            "hashes": [{"alg": "SHA-256", "content": digest.removeprefix("SHA256:")}],
        })
    return list(components.values())


def main():
    version, epoch = sys.argv[1:]
    components = read_components(sys.stdin.read().splitlines())
    reference = f"pkg:generic/rlock@{version}"
    bom = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([version, epoch, components]))),
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application", "bom-ref": reference, "name": "rlock", "version": version, "purl": reference,
                "licenses": [{"license": {"id": "MIT"}}],
            },
        },
        "components": components,
        "dependencies": [{"ref": reference, "dependsOn": [each["bom-ref"] for each in components]}],
    }
    print(json.dumps(bom, indent=1))


main()
