"""Parameters of the configurations in tests/fixtures/huggingface, as transformers has them: each model is built on the
meta device, which holds no weights.

usage: parameters.py --write   write them to parameters.csv
       parameters.py --check   compare them with it; exit code 77 where torch, or the transformers that wrote it, are not
                               installed: other versions have other defaults

Both need PyPI's torch and transformers (several GB with the libraries that torch wants):
  python3 -m venv peer && peer/bin/pip install torch==2.15.0 transformers==5.23.0
"""
import csv, json, logging, pathlib, sys, warnings

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "huggingface"
TABLE = FIXTURES / "parameters.csv"

try:
    import torch, transformers
except ImportError as missing:
    print(f"skipped: transformers is not installed for {sys.executable} ({missing})")
    sys.exit(77)
WROTE = TABLE.read_text().splitlines()[0].rpartition("transformers ")[2].strip() if TABLE.exists() else ""
if sys.argv[1:] != ["--write"] and transformers.__version__ != WROTE:
    print(f"skipped: transformers {transformers.__version__} is installed for {sys.executable}; the table is of {WROTE}")
    sys.exit(77)
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)


def parameters(path):
    config = json.loads(path.read_text())
    made = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    with torch.device("meta"):
        return getattr(transformers, config["architectures"][0])._from_config(made).num_parameters()


rows = [(path.stem, parameters(path)) for path in sorted(FIXTURES.glob("*.json"))]
if sys.argv[1:] == ["--write"]:
    with TABLE.open("w", newline="") as file:
        file.write(f"# configuration,parameters; transformers {transformers.__version__}\n")
        csv.writer(file, lineterminator="\n").writerows(rows)
    print(f"{len(rows)} rows in {TABLE}")
    sys.exit(0)
with TABLE.open() as file:
    known = {row[0]: int(row[1]) for row in csv.reader(file) if not row[0].startswith("#")}
wrong = [f"{name}: {known.get(name)} in the table, {count} by transformers {transformers.__version__}"
         for name, count in rows if known.get(name) != count]
wrong += [f"{name}: no such configuration" for name in known.keys() - {name for name, _ in rows}]
print("\n".join(wrong) or f"{len(rows)} configurations have as many parameters as the table says")
sys.exit(1 if wrong else 0)
