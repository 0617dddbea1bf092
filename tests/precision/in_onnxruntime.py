"""A network that plimsoll precision put in 8 bits, in ONNX Runtime: the same outputs, the same accuracy."""
import json
import pathlib
import subprocess
import sys
import tempfile

from small_data import ENGINE, PLIMSOLL, TEST, environment, plimsoll, widths, write_images

HERE = pathlib.Path(__file__).resolve().parent


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_images(folder)
        plimsoll(folder, *widths("--formats", "fp32,int8", "--no-layers", "--output", "written"))
        data = next((folder / "cache" / "plimsoll" / "data").glob("*.safetensors"))
        done = subprocess.run([sys.executable, HERE / "beside_onnxruntime.py", PLIMSOLL, ENGINE, folder / "written" / "depth-0.25-int8.onnx", data],
                              stdout=subprocess.PIPE, text=True, env=environment(folder), check=True)
        told = json.loads(done.stdout)
        print(done.stdout)
        assert told["examples"] == TEST and told["onnxruntime_accuracy"] > 0.7, "nothing was learned, so that nothing is tested"
        for kind in ("kernels", "literal"):
            assert told[kind]["within_one_step"] >= 0.99, kind
            # Of 400 examples one is a quarter of a point: levels next to each other may tie.
            assert abs(told[kind]["accuracy"] - told["onnxruntime_accuracy"]) <= 2 / TEST, kind


if __name__ == "__main__":
    main()
