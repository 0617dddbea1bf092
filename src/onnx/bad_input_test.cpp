#include <filesystem>
#include <fstream>
#include <random>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/reader.hpp"
#include "onnx/test_model.hpp"
#include "onnx/writer.hpp"

namespace plimsoll::onnx::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct BadModel {
  const char* what;
  Bytes bytes;
  const char* message;
};

Bytes with_initializer(const Bytes& t) {
  return model(graph({.initializers = {t}}));
}
Bytes with_nodes(List nodes) {
  return model(graph({.nodes = nodes, .inputs = {value("x", 1, {1})}}));
}

/// A field that claims more bytes than a 32-bit length can say.
Bytes overlong() {
  Bytes out;
  protozero::add_varint_to_buffer(&out, schema::model::kGraph << 3U | 2U);
  protozero::add_varint_to_buffer(&out, (1ULL << 32U) + 5);
  return out + "12345";
}

Bytes nested(int levels) {
  Bytes body = graph({.nodes = {node("Neg", {"x"}, {"t"})}, .outputs = {value("t")}});
  for (int i = 0; i < levels; ++i)
    body = graph({.nodes = {node("If", {"x"}, {"t"}, {graph_attribute("then_branch", body)})},
                  .outputs = {value("t")}});
  return body;
}

std::vector<Bytes> laughs(int levels) {
  std::vector<Bytes> out;
  for (int i = 0; i < levels; ++i) {
    const std::string next = i + 1 == levels ? "Neg" : "f" + std::to_string(i + 1);
    const std::string domain = i + 1 == levels ? "" : "f";
    out.push_back(
        function("f", "f" + std::to_string(i), {"a"}, {"b"},
                 {node(next, {"a"}, {"t"}, {}, "", domain), node(next, {"t"}, {"b"}, {}, "", domain)}));
  }
  return out;
}

const std::vector<BadModel>& bad_models() {
  static const std::vector<BadModel> kModels = {
      {"empty", "", "is empty"},
      {"no graph", number_field(1, 8), "no graph"},
      {"a text", "this is a text file, not a model\n", "not an ONNX model"},
      {"cut short", model(graph({.inputs = {value("x", 1, {1})}})).substr(0, 20), "cut short"},
      {"a length over 4 GiB", overlong(), "cut short"},
      {"a cycle",
       with_nodes({node("Add", {"x", "b"}, {"a"}, {}, "first"), node("Neg", {"a"}, {"b"}, {}, "second")}),
       "cycle"},
      {"a cycle of one", with_nodes({node("Neg", {"a"}, {"a"}, {}, "self")}),
       "Neg 'self': needs its own result"},
      {"a cycle through a body",
       with_nodes(
           {node("If", {"x"}, {"y"},
                 {graph_attribute("then_branch", graph({.nodes = {node("Neg", {"y"}, {"t"})}}))}, "if")}),
       "cycle"},
      {"an undefined input", with_nodes({node("Neg", {"ghost"}, {"a"}, {}, "neg")}),
       "Neg 'neg': needs tensor 'ghost'"},
      {"an undefined input of a body",
       with_nodes(
           {node("If", {"x"}, {"y"},
                 {graph_attribute("then_branch", graph({.nodes = {node("Neg", {"ghost"}, {"t"})}}))})}),
       "Neg that makes 't': needs tensor 'ghost'"},
      {"an undefined output", model(graph({.outputs = {value("ghost")}})), "'ghost'"},
      {"a tensor made twice", with_nodes({node("Neg", {"x"}, {"a"}), node("Abs", {"x"}, {"a"}, {}, "abs")}),
       "Abs 'abs': tensor 'a' is made twice"},
      {"a node that makes an input", with_nodes({node("Abs", {"x"}, {"x"}, {}, "abs")}), "made twice"},
      {"two initializers of one name",
       model(graph({.initializers = {tensor("w", 1, {1}), tensor("w", 1, {1})}})), "made twice"},
      {"a node without a type", with_nodes({node("", {"x"}, {"a"}, {}, "n")}), "no operator type"},
      {"a negative dimension", with_initializer(tensor("w", 1, {2, -3})),
       "initializer 'w': has a negative dimension"},
      {"a negative dimension of an input", model(graph({.inputs = {value("x", 1, {-1})}})),
       "input 'x': has a negative dimension"},
      {"too many elements", with_initializer(tensor("w", 1, {1LL << 32, 1LL << 32})),
       "more than 2^63 elements"},
      {"too many bytes", with_initializer(tensor("w", 11, {1LL << 61})), "more than 2^63 bytes"},
      {"too many elements of an input",
       model(graph(
           {.inputs = {value("x", 1, {Extent(std::int64_t{1} << 40), Extent(std::int64_t{1} << 40)})}})),
       "2^63"},
      {"a rank over 16",
       with_initializer(tensor("w", 1, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})), "rank over 16"},
      {"an unknown type", with_initializer(tensor("w", 77, {1})), "element type 77"},
      {"too little raw_data", with_initializer(tensor("w", 1, {4}, raw_zeros(15))),
       "raw_data has 15 bytes; its type and dimensions need 16"},
      {"too few typed numbers",
       with_initializer(tensor("w", 7, {4}, number_field(schema::tensor::kInt64s, 1))), "initializer 'w'"},
      {"too many typed numbers",
       with_initializer(tensor(
           "w", 7, {1}, number_field(schema::tensor::kInt64s, 1) + number_field(schema::tensor::kInt64s, 1))),
       "initializer 'w'"},
      {"raw strings", with_initializer(tensor("w", 8, {1}, raw("abc"))), "cannot hold strings"},
      {"floats in int64_data",
       with_initializer(tensor("w", 1, {1}, number_field(schema::tensor::kInt64s, 1))),
       "cannot hold float32"},
      {"an absolute location", with_initializer(tensor("w", 1, {1}, external("/etc/passwd"))),
       "outside the model's folder"},
      {"a location above", with_initializer(tensor("w", 1, {1}, external("data/../../secret"))),
       "outside the model's folder"},
      {"a location of another system", with_initializer(tensor("w", 1, {1}, external("..\\secret"))),
       "outside the model's folder"},
      {"a negative offset", with_initializer(tensor("w", 1, {1}, external("w.bin", "-4"))), "offset"},
      {"an offset that overflows",
       with_initializer(tensor("w", 1, {1}, external("w.bin", "9223372036854775807"))), "2^63"},
      {"an external length that does not fit",
       with_initializer(tensor("w", 1, {1}, external("w.bin", "0", "5"))), "5 bytes"},
      {"deep nesting",
       model(graph({.nodes = {node("If", {"x"}, {"y"}, {graph_attribute("then_branch", nested(2000))})},
                    .inputs = {value("x", 9, {})}})),
       "nested more than 64 deep"},
      {"control bytes in a name", with_nodes({node("Neg", {"\x1b[31mred\n"}, {"a"})}), "'\\x1b[31mred\\x0a'"},
      {"a function that calls itself",
       model(graph({.nodes = {node("f", {"x"}, {"y"}, {}, "", "f")}, .inputs = {value("x", 1, {1})}}),
             {function("f", "f", {"a"}, {"b"}, {node("f", {"a"}, {"b"}, {}, "", "f")})}),
       "calls itself"},
      {"a billion laughs",
       model(graph({.nodes = {node("f0", {"x"}, {"y"}, {}, "", "f")}, .inputs = {value("x", 1, {1})}}),
             laughs(40)),
       "too large a graph"},
      {"a function that makes no output",
       model(graph({.nodes = {node("f", {"x"}, {"y"}, {}, "", "f")}, .inputs = {value("x", 1, {1})}}),
             {function("f", "f", {"a"}, {"b"}, {})}),
       "never makes its output 'b'"},
      {"too many arguments",
       model(graph({.nodes = {node("f", {"x", "x"}, {"y"}, {}, "", "f")}, .inputs = {value("x", 1, {1})}}),
             {function("f", "f", {"a"}, {"b"}, {})}),
       "2 inputs"},
      {"a reference outside a function", with_nodes({node("Neg", {"x"}, {"y"}, {reference("a", "b", 1)})}),
       "is in none"},
      {"a name too long", with_nodes({node("Neg", {"x"}, {std::string(70000, 'n')})}), "name of 70000 bytes"},
  };
  return kModels;
}

TEST(BadModels, GetOneClearError) {
  for (const BadModel& bad : bad_models()) {
    SCOPED_TRACE(bad.what);
    const Result<Model> m = read_text(bad.bytes);
    ASSERT_FALSE(m);
    EXPECT_THAT(m.error().text(), HasSubstr(bad.message));
    EXPECT_THAT(m.error().text(), testing::StartsWith("test.onnx"));
    EXPECT_EQ(m.error().kind, Error::Kind::bad_input);
    for (const char c : m.error().text()) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

TEST(BadModels, CutAnywhereOrWithFlippedBytesNeverCrash) {
  const Bytes good = model(
      graph({.nodes = {node("If", {"c"}, {"y"}, {graph_attribute("then_branch", nested(2))}),
                       node("f", {"y"}, {"z"}, {attribute("alpha", {1, 2})}, "", "f")},
             .inputs = {value("x", 1, {"N", 2}), value("c", 9, {})},
             .outputs = {value("z", 1, {"N"})},
             .initializers = {tensor("w", 7, {2}, raw_zeros(16)), tensor("v", 1, {2}, external("v.bin"))}}),
      {function("f", "f", {"a"}, {"b"},
                {node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", "alpha", 7)})})});
  ASSERT_TRUE(read_text(good)) << read_text(good).error().text();
  for (std::size_t n = 0; n < good.size(); ++n) (void)read_text(good.substr(0, n));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    Bytes bad = good;
    for (int k = 0; k < 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    (void)read_text(bad);
  }
}

class BadFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("plimsoll_bad_files_" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "model");
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path put(const std::string& name, const Bytes& bytes) {
    const fs::path path = folder_ / "model" / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  fs::path folder_;
};

TEST_F(BadFiles, AreRefusedWithoutWaiting) {
  const auto message = [](const fs::path& path) { return read(path).error().text(); };
  EXPECT_THAT(message(folder_ / "none.onnx"), HasSubstr("no such file"));
  EXPECT_THAT(message(folder_), HasSubstr("is a folder"));
  EXPECT_THAT(message(put("empty.onnx", "")), HasSubstr("is empty"));
  EXPECT_THAT(message("/dev/zero"), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(message(folder_ / "fifo"), HasSubstr("not a regular file"));
  const fs::path locked = put("locked.onnx", "x");
  fs::permissions(locked, fs::perms::none);
  if (::access(locked.c_str(), R_OK) != 0) {  // root may read anything
    EXPECT_THAT(message(locked), HasSubstr("Permission denied"));
  }
}

TEST_F(BadFiles, ExternalDataStaysInTheFolder) {
  std::ofstream(folder_ / "secret") << "12345678";
  fs::create_symlink(folder_ / "secret", folder_ / "model" / "link.bin");
  put("near.bin", "12345678");
  const auto bytes_of = [&](const char* location, const char* offset) -> Result<std::string> {
    Result<Model> m = read(put("m.onnx", with_initializer(tensor("w", 1, {1}, external(location, offset)))));
    if (!m) return std::unexpected(m.error());
    const Result<WeightBytes> bytes = m->bytes_of(m->network.main().weights[0]);
    if (!bytes) return std::unexpected(bytes.error());
    return std::string(reinterpret_cast<const char*>(bytes->view.data()), bytes->view.size());
  };
  EXPECT_THAT(bytes_of("link.bin", "0").error().text(), HasSubstr("outside the model's folder"));
  EXPECT_THAT(bytes_of("missing.bin", "0").error().text(), HasSubstr("No such file"));
  EXPECT_THAT(bytes_of("near.bin", "6").error().text(), HasSubstr("has 8 bytes"));
  EXPECT_EQ(bytes_of("near.bin", "4").value(), "5678");
}

TEST_F(BadFiles, AreNotLeftBehindByAFailedWrite) {
  const Bytes bytes = with_initializer(tensor("w", 1, {100}));
  Result<Model> m = read_text(bytes);
  ASSERT_TRUE(m);
  const fs::path path = folder_ / "model" / "out.onnx";
  EXPECT_FALSE(write(m->network, weights_of(*m), path));  // contents left out: nothing to write
  EXPECT_TRUE(fs::is_empty(folder_ / "model"));
  EXPECT_THAT(write(m->network, {}, folder_ / "no" / "out.onnx").error().text(),
              HasSubstr("cannot write it"));
}

}  // namespace
}  // namespace plimsoll::onnx::test
