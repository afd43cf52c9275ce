#!/usr/bin/env bash
# Starts sbt. Needs Java 17 and a Python with pyspark, nothing else: the Ivy jar that pyspark ships
# fetches the sbt launcher from Maven Central, once, and its checksum is verified before it runs.
#
#   PYTHON           the Python whose pyspark is compiled against (default: .venv/bin/python, python3)
#   SPARK_JARS_DIR   compile against the jars of this directory instead
#   TAMIS_SBT_HOME   where the launcher, the compiler and the libraries are kept (default: the user's cache)
#   SBT_OPTS         further options of the JVM
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
version="$(sed -n 's/^sbt\.version=//p' "$root/project/build.properties")"
sha256="18d4a733eae2f70fd4d71a46e9da21d2eb7c9bf6ee85a67be9a9800e7c01403e" # of sbt-launch 1.13.0
home="${TAMIS_SBT_HOME:-${XDG_CACHE_HOME:-${HOME:-$root/build}/.cache}/tamis/sbt}"
launcher="$home/sbt-launch-$version.jar"
java="${JAVA_HOME:+$JAVA_HOME/bin/}java"

fail() { echo "sbt: $*" >&2; exit 1; }

command -v "$java" >/dev/null || fail "no java found: install a JDK (17 or newer) or set JAVA_HOME"

if [ -z "${PYTHON:-}" ]; then
  PYTHON="$root/.venv/bin/python"
  [ -x "$PYTHON" ] || PYTHON=python3
fi
export PYTHON
if [ -z "${SPARK_JARS_DIR:-}" ]; then
  SPARK_JARS_DIR="$("$PYTHON" -c 'import importlib.util as u, os
spec = u.find_spec("pyspark")
print(os.path.join(os.path.dirname(spec.origin), "jars") if spec else "")')"
  [ -n "$SPARK_JARS_DIR" ] || fail "$PYTHON has no pyspark: run \`make setup\`, or set PYTHON or SPARK_JARS_DIR"
fi

# The file is removed when its checksum is wrong, so that the next start fetches it again.
if [ ! -s "$launcher" ]; then
  mkdir -p "$home"
  fetched="$(mktemp -d "$home/fetch.XXXXXX")"
  "$java" -jar "$SPARK_JARS_DIR"/ivy-*.jar -cache "$fetched/ivy" \
    -dependency org.scala-sbt sbt-launch "$version" \
    -retrieve "$fetched/[artifact]-[revision].[ext]" >"$fetched/log" 2>&1 </dev/null ||
    { cat "$fetched/log" >&2; fail "could not fetch sbt $version from Maven Central"; }
  "$PYTHON" -c 'import hashlib, sys
found = hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest()
sys.exit(0 if found == sys.argv[2] else f"sbt: the launcher has sha256 {found}, expected {sys.argv[2]}")' \
    "$fetched/sbt-launch-$version.jar" "$sha256" || { rm -rf "$fetched"; exit 1; }
  mv "$fetched/sbt-launch-$version.jar" "$launcher"
  rm -rf "$fetched"
fi

# One sbt at a time in one tree: two of them would overwrite each other's target directories.
if command -v flock >/dev/null; then
  mkdir -p "$root/project/target"
  exec 9>"$root/project/target/sbt.lock"
  flock --nonblock 9 || { echo "sbt: waiting for another sbt in this tree" >&2; flock 9; }
fi

cd "$root"
exec "$java" -Xms256m -Xmx2g -Xss4m ${SBT_OPTS:-} \
  -Dtamis.spark.jars="$SPARK_JARS_DIR" \
  -Dtamis.python="$PYTHON" \
  -Dsbt.override.build.repos=true \
  -Dsbt.repository.config="$root/project/repositories" \
  -Dsbt.boot.directory="$home/boot" \
  -Dsbt.global.base="$home/global" \
  -Dsbt.ivy.home="$home/ivy" \
  -Dsbt.coursier.home="$home/coursier" \
  -Dsbt.server.autostart=false \
  -Dsbt.supershell=false \
  -jar "$launcher" "$@"
