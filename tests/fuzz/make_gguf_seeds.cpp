// Writes the seeds of gguf_fuzz: small files of several architectures, and each part of the format once.
#include <filesystem>
#include <fstream>

#include "gguf/test_models.hpp"

int main(int argc, char** argv) {
  using namespace plimsoll::gguf;
  using namespace plimsoll::gguf::test;
  if (argc != 2) return 2;
  const auto put = [&](const char* name, const FileWriter& file) {
    std::ofstream(std::filesystem::path(argv[1]) / name, std::ios::binary) << file.bytes();
  };
  // Data are zeros that no reader looks at: as few as can be.
  const Small tiny{.width = 4,
                   .hidden = 4,
                   .layers = 1,
                   .heads = 2,
                   .key_heads = 1,
                   .vocabulary = 4,
                   .matrices = kF16,
                   .words = kF16,
                   .values = kF16};
  put("llama.gguf", small_llama(tiny));
  put("gemma.gguf", small_llama(tiny, "gemma"));
  put("unknown.gguf", small_llama(tiny, "unknown"));
  FileWriter values;
  values.pair("u8", ValueType::uint8).number<std::uint8_t>(1);
  values.pair("i64", ValueType::int64).number<std::int64_t>(-1);
  values.pair("f64", ValueType::float64).number<double>(0.5);
  values.flag("yes", true).wholes("list", {1, 2, 3}).small("split.count", 1).whole("general.alignment", 64);
  values.pair("nested", ValueType::array)
      .type(ValueType::array)
      .number<std::uint64_t>(1)
      .type(ValueType::text)
      .number<std::uint64_t>(1)
      .text("x");
  values.alignment = 64;
  values.tensor("a", {64, 2}, kQ8_0).tensor("b", {}, kF16);
  put("values.gguf", values);
  FileWriter old;
  old.version = 2;
  put("version2.gguf", old.text("general.architecture", "gpt2").tensor("a", {2, 2, 2, 2}, kF32));
  return 0;
}
