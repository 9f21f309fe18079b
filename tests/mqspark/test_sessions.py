"""Sessions keep what their user has set, and an import registers the sources."""

import json
from pathlib import Path

import pyspark
import pytest

from mqspark.errors import NoSpark
from mqspark.sessions import session
from tests.golden import REPOSITORY, Golden
from tests.mqspark.cluster import environment
from tests.ports import free_ports
from tests.programs import python

pytestmark = pytest.mark.spark
COUNT = 1_420

IMPORT_FIRST = """
import mqspark
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
"""
IMPORT_LAST = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
import mqspark
"""
OURS = """
import mqspark
spark = mqspark.session("local[1]")
"""
READ = """
import json, sys
rows = spark.read.format("rocketmq_store").load(sys.argv[1]).select("body").collect()
print(json.dumps([len(rows), sum(row.body is None for row in rows)]))
"""
# In a process of its own: where a session is active, its master stays.
REFUSED = """
import json, sys
import mqspark
from mqspark.errors import NoMaster
try:
    mqspark.session(sys.argv[1])
except NoMaster as error:
    print(json.dumps(str(error)))
"""
TELL = """
import json
names = "spark.sql.session.timeZone", "spark.sql.shuffle.partitions", "spark.ui.enabled"
names += "spark.driver.memory", "spark.ui.showConsoleProgress"
names += "spark.app.name", "spark.master", "spark.sql.python.filterPushdown.enabled"
print(json.dumps({name: spark.conf.get(name, None) for name in names}))
"""


def run(code: str, *words: str, cwd: Path, **env: str) -> object:
    known = {**environment(), "PYTHONPATH": str(REPOSITORY), **env}
    del known["SPARK_EXECUTOR_MEMORY"]
    done = python("-c", code, *words, cwd=cwd, env=known)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("how", [IMPORT_FIRST, IMPORT_LAST, OURS], ids=["first", "last", "ours"])
def test_the_sources_are_known_after_the_import(how: str, golden: Golden, tmp_path: Path) -> None:
    found = run(how + READ, str(golden.store("basic")), cwd=tmp_path)

    assert found == [COUNT, 0]


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.sql.session.timeZone Asia/Tokyo\n"
        "spark.sql.shuffle.partitions 3\n"
        "spark.app.name mine\n"
        "spark.driver.memory 600m\n"
    )
    submitted = "--conf spark.sql.shuffle.partitions=5 --master local[1] pyspark-shell"

    found = run(
        "import mqspark\nspark = mqspark.session()" + TELL,
        cwd=tmp_path,
        SPARK_CONF_DIR=str(tmp_path),
        PYSPARK_SUBMIT_ARGS=submitted,
    )

    assert found == {
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.shuffle.partitions": "5",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "600m",
        "spark.app.name": "mine",
        "spark.master": "local[1]",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
    }


def test_an_active_session_gets_only_what_nobody_has_set(tmp_path: Path) -> None:
    own = """
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").appName("mine")
builder = builder.config("spark.ui.enabled", "false")
mine = builder.config("spark.sql.python.filterPushdown.enabled", "false").getOrCreate()
import mqspark
spark = mqspark.session("local[2]")
assert spark is mine
"""

    found = run(own + TELL, cwd=tmp_path)

    assert found == {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": None,
        "spark.ui.enabled": "false",
        "spark.driver.memory": None,
        "spark.app.name": "mine",
        "spark.master": "local[1]",
        "spark.sql.python.filterPushdown.enabled": "false",
        "spark.ui.showConsoleProgress": "true",
    }


@pytest.mark.parametrize("given", [None, "--conf spark.ui.port=0 pyspark-shell"])
def test_programs_started_later_do_not_inherit_the_settings(
    tmp_path: Path, given: str | None
) -> None:
    code = """
import json, os
import mqspark
mqspark.session("local[1]")
print(json.dumps(os.environ.get("PYSPARK_SUBMIT_ARGS")))
"""
    env = {} if given is None else {"PYSPARK_SUBMIT_ARGS": given}

    assert run(code, cwd=tmp_path, **env) == given


@pytest.mark.parametrize("master", ["spark://127.0.0.1:{port}", "sc://127.0.0.1:{port}/;a=b"])
def test_a_master_that_does_not_answer_is_named_at_once(master: str, tmp_path: Path) -> None:
    master = master.format(port=free_ports(1))

    said = run(REFUSED, master, cwd=tmp_path)

    assert said.startswith("no master of Spark answers at 127.0.0.1:")
    assert f"Connection refused; check the address of the master ({master})" in said


def test_a_master_that_spark_cannot_read_is_one_sentence(tmp_path: Path) -> None:
    assert run(REFUSED, "sparc://host:7077", cwd=tmp_path) == (
        "Spark does not start with master sparc://host:7077: Could not parse Master URL: "
        "'sparc://host:7077'"
    )


def test_an_older_pyspark_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.0.2")

    with pytest.raises(NoSpark, match=r"PySpark 4\.0\.2 cannot run .* need 4\.1 or later: pip"):
        session("local[1]")
