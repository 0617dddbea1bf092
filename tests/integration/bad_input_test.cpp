// The program itself against files that are no models, or try to make it eat all memory: exit code 2, one
// message that names the file and, where there is one, the node, nothing on standard output, little memory.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/process.hpp"
#include "network/zoo/zoo.hpp"
#include "onnx/test_model.hpp"
#include "onnx/writer.hpp"

namespace plimsoll {
namespace {

using namespace onnx::test;
namespace schema = onnx::schema;
constexpr int kFloat = 1, kInt64 = 7;

class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::make("plimsoll-bad-input");
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
  }

  [[nodiscard]] std::filesystem::path path(std::string_view name) const { return folder_->path() / name; }

  [[nodiscard]] std::filesystem::path store(std::string_view name, const std::string& contents) const {
    std::ofstream(path(name), std::ios::binary) << contents;
    return path(name);
  }

  [[nodiscard]] ProcessOutput plimsoll(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), PLIMSOLL_PROGRAM);
    ProcessOptions options;
    options.argv = std::move(arguments);
    options.timeout = std::chrono::minutes(4);
    const Result<ProcessOutput> output = run(options);
    EXPECT_TRUE(output) << output.error().text();
    return output ? *output : ProcessOutput{};
  }

  /// The most that any child of this test has used: 64 MiB and four times what it was given to read.
  static void expect_little_memory(std::size_t file_bytes) {
    rusage usage{};
    ASSERT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
    const auto peak = static_cast<std::size_t>(usage.ru_maxrss) << 10;
    EXPECT_LE(peak, 4 * file_bytes + (std::size_t{64} << 20)) << "for a file of " << file_bytes << " bytes";
  }

  static void expect_one_message(const ProcessOutput& got, const std::vector<std::string>& parts) {
    EXPECT_EQ(got.signal, 0) << got.outcome();
    EXPECT_FALSE(got.timed_out) << got.outcome();
    EXPECT_EQ(got.exit_code, 2) << got.error << got.output.substr(0, 600);
    EXPECT_EQ(got.output, "");
    const std::size_t lines = static_cast<std::size_t>(std::ranges::count(got.error, '\n'));
    EXPECT_TRUE(got.error.starts_with("plimsoll: ")) << got.error;
    EXPECT_GE(lines, 1u);
    EXPECT_LE(lines, 2u) << "a message, and perhaps a hint: " << got.error;
    for (const std::string& part : parts)
      EXPECT_NE(got.error.find(part), std::string::npos) << "'" << part << "' is not in: " << got.error;
    for (const char c : got.error)
      EXPECT_TRUE(c == '\n' || (c >= 0x20 && c != 0x7f) || (c & 0x80)) << got.error;
  }

  void expect_refused(const std::filesystem::path& file, std::vector<std::string> parts = {}) const {
    parts.push_back(file.filename().string());
    expect_one_message(plimsoll({"inspect", file.string()}), parts);
    std::error_code ignored;
    const auto size = std::filesystem::is_regular_file(file, ignored) ? std::filesystem::file_size(file) : 0;
    expect_little_memory(size);
  }

  void expect_refused_model(const std::string& bytes, std::vector<std::string> parts = {}) const {
    expect_refused(store("bad.onnx", bytes), std::move(parts));
  }

  /// A file that may be answered or refused, so long as that costs little.
  ProcessOutput expect_survived(const std::string& bytes) const {
    const auto file = store("heavy.onnx", bytes);
    ProcessOutput got = plimsoll({"inspect", file.string()});
    EXPECT_EQ(got.signal, 0) << got.outcome();
    EXPECT_FALSE(got.timed_out) << got.outcome();
    if (got.exit_code != 0) expect_one_message(got, {"heavy.onnx"});
    expect_little_memory(bytes.size());
    return got;
  }

 private:
  std::optional<TemporaryDirectory> folder_;
};

/// A real network's file: the largest part of a graph, without weights.
std::string real_file() {
  Result<network::Network> built = network::zoo::build("resnet50", network::Mode::infer);
  Result<TemporaryDirectory> folder = TemporaryDirectory::make();
  if (!built || !folder || !onnx::write(*built, {}, folder->path() / "m.onnx")) return {};
  return read_file(folder->path() / "m.onnx", std::size_t{1} << 26).value_or("");
}

TEST_F(BadInput, MissingFile) {
  expect_refused(path("absent.onnx"));
}
TEST_F(BadInput, MissingFolder) {
  expect_refused(path("absent/absent.onnx"));
}
TEST_F(BadInput, Directory) {
  std::filesystem::create_directory(path("folder.onnx"));
  expect_refused(path("folder.onnx"));
}
TEST_F(BadInput, EmptyFile) {
  expect_refused_model("");
}
TEST_F(BadInput, TextFile) {
  expect_refused_model("This is a text about ships.\nIt has two lines.\n");
}
TEST_F(BadInput, JsonAndPickleFiles) {
  expect_refused_model("{\"version\": 1, \"model\": \"resnet50\"}\n");
  expect_refused_model(std::string("\x80\x02}q\x00.", 6));
  expect_refused_model(std::string("PK\x03\x04\x00\x00\x08\x08", 8) + std::string(64, '\0'));
}
TEST_F(BadInput, Zeros) {
  expect_refused_model(std::string(4096, '\0'));
}
TEST_F(BadInput, CutOff) {
  const std::string whole = real_file();
  ASSERT_GT(whole.size(), 10000u);
  for (const std::size_t percent : {1, 10, 33, 50, 90, 99})
    expect_refused_model(whole.substr(0, whole.size() * percent / 100));
  expect_refused_model(whole.substr(0, 1));
  expect_refused_model(whole.substr(0, whole.size() - 1));
}
TEST_F(BadInput, RandomBytes) {
  std::mt19937_64 random(1);
  for (const std::size_t size : {1, 7, 100, 4096, 1 << 20}) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    bytes[0] = '\x0b';  // a field of protobuf's group type, which no ONNX file has
    expect_refused_model(bytes);
  }
}
TEST_F(BadInput, FlippedBytesOfARealFileNeverCrash) {
  const std::string whole = real_file();
  std::mt19937_64 random(2);
  for (int round = 0; round < 40; ++round) {
    std::string bytes = whole;
    for (int n = 0; n < 8; ++n) bytes[random() % bytes.size()] = static_cast<char>(random());
    (void)expect_survived(bytes);
  }
}
TEST_F(BadInput, Pipe) {
  ASSERT_EQ(mkfifo(path("pipe.onnx").c_str(), 0600), 0);
  expect_refused(path("pipe.onnx"));
}
TEST_F(BadInput, Device) {
  expect_refused("/dev/null");
  expect_refused("/dev/zero");
}
TEST_F(BadInput, Unreadable) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  const auto file = store("secret.onnx", "x");
  std::filesystem::permissions(file, std::filesystem::perms::none);
  expect_refused(file);
}
TEST_F(BadInput, LinkInACircle) {
  std::filesystem::create_symlink(path("b.onnx"), path("a.onnx"));
  std::filesystem::create_symlink(path("a.onnx"), path("b.onnx"));
  expect_refused(path("a.onnx"));
}

TEST_F(BadInput, Cycle) {
  expect_refused_model(model(
      graph({.nodes = {node("Add", {"x", "b"}, {"a"}, {}, "first"), node("Relu", {"a"}, {"b"}, {}, "second")},
             .inputs = {value("x", kFloat, {2})},
             .outputs = {value("b")}})));
}
TEST_F(BadInput, NodeThatFeedsItself) {
  expect_refused_model(
      model(graph({.nodes = {node("Relu", {"a"}, {"a"}, {}, "own")}, .outputs = {value("a")}})), {"own"});
}
TEST_F(BadInput, UndefinedInput) {
  expect_refused_model(
      model(graph({.nodes = {node("Relu", {"nowhere"}, {"y"}, {}, "relu_7")}, .outputs = {value("y")}})),
      {"relu_7", "nowhere"});
}
TEST_F(BadInput, OutputThatNobodyMakes) {
  expect_refused_model(model(graph({.nodes = {node("Relu", {"x"}, {"y"})},
                                    .inputs = {value("x", kFloat, {2})},
                                    .outputs = {value("nobody")}})),
                       {"nobody"});
}
TEST_F(BadInput, TwoMakersOfOneTensor) {
  expect_refused_model(
      model(graph({.nodes = {node("Relu", {"x"}, {"y"}), node("Abs", {"x"}, {"y"}, {}, "again")},
                   .inputs = {value("x", kFloat, {2})},
                   .outputs = {value("y")}})),
      {"y"});
}
TEST_F(BadInput, NegativeDimension) {
  expect_refused_model(model(graph({.nodes = {node("Add", {"x", "w"}, {"y"}, {}, "sum")},
                                    .inputs = {value("x", kFloat, {2})},
                                    .outputs = {value("y")},
                                    .initializers = {tensor("w", kFloat, {-3})}})),
                       {"w"});
}
TEST_F(BadInput, OverflowingDimensions) {
  expect_refused_model(
      model(graph({.nodes = {node("Add", {"x", "w"}, {"y"}, {}, "sum")},
                   .inputs = {value("x", kFloat, {2})},
                   .outputs = {value("y")},
                   .initializers = {tensor("w", kFloat, {std::int64_t{1} << 40, std::int64_t{1} << 40},
                                           external("w.bin"))}})),
      {"w"});
}
TEST_F(BadInput, ShapesThatDoNotMatch) {
  expect_refused_model(model(graph({.nodes = {node("MatMul", {"x", "w"}, {"y"}, {}, "projection")},
                                    .inputs = {value("x", kFloat, {2, 3})},
                                    .outputs = {value("y")},
                                    .initializers = {tensor("w", kFloat, {4, 5}, external("w.bin"))}})),
                       {"projection"});
}
TEST_F(BadInput, AttributeOutOfRange) {
  expect_refused_model(
      model(graph({.nodes = {node("Transpose", {"x"}, {"y"}, {attribute("perm", {0, 7})}, "turn")},
                   .inputs = {value("x", kFloat, {2, 3})},
                   .outputs = {value("y")}})),
      {"turn"});
}
TEST_F(BadInput, TooManyInputs) {
  expect_refused_model(model(graph({.nodes = {node("Relu", {"x", "x", "x"}, {"y"}, {}, "greedy")},
                                    .inputs = {value("x", kFloat, {2})},
                                    .outputs = {value("y")}})),
                       {"greedy"});
}

std::string model_of_unknown(std::string_view type, std::string_view domain) {
  return model(graph({.nodes = {node(type, {"x"}, {"y"}, {}, "strange", domain)},
                      .inputs = {value("x", kFloat, {2})},
                      .outputs = {value("y", kFloat, {2})}}));
}
TEST_F(BadInput, UnknownOperator) {
  expect_refused_model(model_of_unknown("FlyToTheMoon", ""), {"FlyToTheMoon", "strange"});
}
TEST_F(BadInput, UnknownDomain) {
  expect_refused_model(model_of_unknown("Relu", "my.own.company"), {"my.own.company", "strange"});
}
TEST_F(BadInput, AllowUnknownGoesOn) {
  for (const auto& bytes :
       {model_of_unknown("FlyToTheMoon", ""), model_of_unknown("Relu", "my.own.company")}) {
    const auto file = store("strange.onnx", bytes);
    const ProcessOutput got = plimsoll({"inspect", "--allow-unknown", file.string()});
    EXPECT_TRUE(got.succeeded()) << got.outcome() << got.error;
    EXPECT_NE(got.output.find("not counted"), std::string::npos) << got.output;
  }
}

std::string model_with_weight(const Bytes& contents, std::initializer_list<std::int64_t> dims = {4}) {
  return model(graph({.nodes = {node("Add", {"x", "w"}, {"y"}, {}, "sum")},
                      .inputs = {value("x", kFloat,
                                       dims.size() == 1 ? std::initializer_list<Extent>{4}
                                                        : std::initializer_list<Extent>{4, 4})},
                      .outputs = {value("y")},
                      .initializers = {tensor("w", kFloat, dims, contents)}}));
}
TEST_F(BadInput, WeightWithALyingLength) {
  expect_refused_model(model_with_weight(raw_zeros(12)), {"w"});
  expect_refused_model(model_with_weight(raw_zeros(20)), {"w"});
}
TEST_F(BadInput, FieldLongerThanTheFile) {
  std::string bytes = model_with_weight(raw_zeros(16));
  bytes += std::string("\x3a\xff\xff\xff\xff\x0f", 6);  // a second graph of 4 GiB
  expect_refused_model(bytes);
}
TEST_F(BadInput, ExternalDataMayBeMissing) {
  const ProcessOutput got = plimsoll(
      {"inspect", store("bare.onnx", model_with_weight(external("absent.bin", "0", "16"))).string()});
  EXPECT_TRUE(got.succeeded()) << got.outcome() << got.error;
}
TEST_F(BadInput, ExternalDataOutsideTheFolder) {
  for (const char* location : {"../x", "/etc/passwd", "a/../../x", "..", ""})
    expect_refused_model(
        model_with_weight(external(location, "0", "16") +
                          (*location == '\0' ? number_field(schema::tensor::kLocation, 1) : "")),
        {"w"});
}
TEST_F(BadInput, ExternalDataThroughALinkIsNotRead) {
  // Inspecting needs no weights: the answer must be the same whether the link leads out of the folder or not.
  std::filesystem::create_symlink("/etc/passwd", path("link.bin"));
  const ProcessOutput got = plimsoll(
      {"inspect", store("linked.onnx", model_with_weight(external("link.bin", "0", "16"))).string()});
  EXPECT_TRUE(got.succeeded() || got.exit_code == 2) << got.outcome() << got.error;
  EXPECT_EQ((got.output + got.error).find("root:"), std::string::npos);
}
TEST_F(BadInput, ExternalDataWithNonsenseForNumbers) {
  expect_refused_model(model_with_weight(external("w.bin", "-1", "16")), {"w"});
  expect_refused_model(model_with_weight(external("w.bin", "many", "16")), {"w"});
  expect_refused_model(model_with_weight(external("w.bin", "9223372036854775807", "16")), {"w"});
}

/// `levels` Ifs, each in the branch of the one before.
std::string nested(int levels) {
  Bytes inner = graph({.nodes = {node("Relu", {"x"}, {"r"})}, .outputs = {value("r")}});
  for (int i = 0; i < levels; ++i)
    inner = graph(
        {.nodes = {node("If", {"c"}, {"r"},
                        {graph_attribute("then_branch", inner),
                         graph_attribute("else_branch", inner.size() > 400
                                                            ? graph({.nodes = {node("Relu", {"x"}, {"r"})},
                                                                     .outputs = {value("r")}})
                                                            : inner)},
                        fmt::format("if_{}", i))},
         .outputs = {value("r")}});
  return inner;
}
TEST_F(BadInput, DeepNesting) {
  std::string main = nested(200);
  main += text_field(schema::graph::kInput, value("x", kFloat, {2})) +
          text_field(schema::graph::kInput, value("c", 9, {}));
  expect_refused_model(model(main));
}
TEST_F(BadInput, VeryDeepMessages) {
  // Nothing but attributes of graphs of nodes, 3,000 deep: recursion without a limit would end in a signal.
  std::string inner = graph({.nodes = {node("Relu", {"x"}, {"r"})}});
  for (int i = 0; i < 3000; ++i)
    inner = graph({.nodes = {node("If", {"c"}, {"r"}, {graph_attribute("then_branch", inner)})}});
  expect_refused_model(model(inner));
}
TEST_F(BadInput, FunctionsThatDoubleAtEachLevel) {
  std::vector<Bytes> functions = {function("bomb", "f0", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"})})};
  for (int i = 1; i <= 60; ++i) {
    const std::string before = fmt::format("f{}", i - 1);
    functions.push_back(
        function("bomb", fmt::format("f{}", i), {"a"}, {"b"},
                 {node(before, {"a"}, {"m"}, {}, "", "bomb"), node(before, {"m"}, {"b"}, {}, "", "bomb")}));
  }
  expect_refused_model(model(graph({.nodes = {node("f60", {"x"}, {"y"}, {}, "boom", "bomb")},
                                    .inputs = {value("x", kFloat, {2})},
                                    .outputs = {value("y")}}),
                             functions));
}
TEST_F(BadInput, FunctionThatCallsItself) {
  expect_refused_model(model(graph({.nodes = {node("f", {"x"}, {"y"}, {}, "", "own")},
                                    .inputs = {value("x", kFloat, {2})},
                                    .outputs = {value("y")}}),
                             {function("own", "f", {"a"}, {"b"}, {node("f", {"a"}, {"b"}, {}, "", "own")})}));
}

Bytes int64s(std::string_view name, std::initializer_list<std::int64_t> values, bool scalar = false) {
  std::string bytes(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(std::int64_t));
  return scalar ? tensor(name, kInt64, {}, raw(bytes))
                : tensor(name, kInt64, {static_cast<std::int64_t>(values.size())}, raw(bytes));
}
constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST_F(BadInput, HugeRange) {
  (void)expect_survived(model(graph(
      {.nodes = {node("Range", {"a", "b", "c"}, {"r"}, {}, "count"), node("Reshape", {"x", "r"}, {"y"})},
       .inputs = {value("x", kFloat, {2})},
       .outputs = {value("y"), value("r")},
       .initializers = {int64s("a", {0}, true), int64s("b", {1'000'000'000'000'000'000}, true),
                        int64s("c", {1}, true)}})));
}
TEST_F(BadInput, HugeTileExpandAndConstant) {
  const auto one = [](std::string_view type, std::initializer_list<std::int64_t> by) {
    return model(graph({.nodes = {node(type, {"v", "by"}, {"y"}, {}, "swell"),
                                  node("Cast", {"y"}, {"z"}, {attribute("to", 7)})},
                        .outputs = {value("z")},
                        .initializers = {int64s("v", {1, 2}), int64s("by", by)}}));
  };
  (void)expect_survived(one("Tile", {kHuge}));
  (void)expect_survived(one("Tile", {1 << 30}));
  (void)expect_survived(one("Expand", {kHuge, 2}));
  (void)expect_survived(one("Expand", {1 << 30, 2}));
  for (const std::int64_t n : {std::int64_t{1} << 34, kHuge})
    (void)expect_survived(model(
        graph({.nodes = {node("ConstantOfShape", {"n"}, {"y"}, {}, "zeros"), node("Add", {"y", "y"}, {"z"})},
               .outputs = {value("z")},
               .initializers = {int64s("n", {n})}})));
  expect_refused_model(model(graph({.nodes = {node("ConstantOfShape", {"n"}, {"y"}, {}, "zeros")},
                                    .outputs = {value("y")},
                                    .initializers = {int64s("n", {kHuge, kHuge})}})),
                       {"zeros"});
}
TEST_F(BadInput, ConcatThatDoublesAgainAndAgain) {
  std::string main;
  std::string before = "v";
  for (int i = 0; i < 80; ++i) {
    const std::string after = fmt::format("c{}", i);
    main += text_field(schema::graph::kNode,
                       node("Concat", {before, before}, {after}, {attribute("axis", 0)}, after));
    before = after;
  }
  main += text_field(schema::graph::kInitializer, int64s("v", {1, 2})) +
          text_field(schema::graph::kOutput, value(before));
  (void)expect_survived(model(main));
}
TEST_F(BadInput, LoopThatDoublesItsState) {
  const Bytes body = graph(
      {.nodes = {node("Concat", {"s", "s"}, {"t"}, {attribute("axis", 0)}), node("Identity", {"go"}, {"on"})},
       .inputs = {value("i", kInt64, {}), value("go", 9, {}), value("s", kFloat, {"n"})},
       .outputs = {value("on"), value("t")}});
  (void)expect_survived(
      model(graph({.nodes = {node("Loop", {"m", "", "x"}, {"y"}, {graph_attribute("body", body)}, "grow")},
                   .inputs = {value("x", kFloat, {2})},
                   .outputs = {value("y")},
                   .initializers = {int64s("m", {1'000'000'000}, true)}})));
}

TEST_F(BadInput, NamesWithEscapeSequencesNeverReachTheTerminal) {
  const std::string evil = "\x1b]0;owned\x07\x1b[31mred\r\nplimsoll: fine\x9b";
  const auto clean = [](const std::string& text) {
    return std::ranges::none_of(text, [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }) &&
           text.find("\nplimsoll: fine") == std::string::npos;
  };
  expect_refused_model(
      model(graph({.nodes = {node("Relu", {evil}, {"y"}, {}, evil)}, .outputs = {value("y")}})));
  expect_refused_model(model(graph({.nodes = {node(evil, {"x"}, {"y"}, {}, evil, evil)},
                                    .inputs = {value("x", kFloat, {2})},
                                    .outputs = {value("y")}})));
  const auto file = store("evil.onnx", model(graph({.nodes = {node("Relu", {evil}, {evil + "2"}, {}, evil)},
                                                    .inputs = {value(evil, kFloat, {evil.c_str()})},
                                                    .outputs = {value(evil + "2")}})));
  for (const char* format : {"--layers", "--json", "--markdown", "--csv"}) {
    ProcessOutput got = plimsoll({"inspect", format, file.string()});
    std::erase(got.output, std::string_view(format) == "--csv" ? '\r' : '\n');  // CSV's own line ends
    EXPECT_TRUE(got.succeeded()) << got.outcome() << got.error;
    EXPECT_TRUE(clean(got.output)) << format << ": " << got.output;
  }
  const ProcessOutput two = plimsoll({"inspect", "--layers", file.string(), "alexnet"});
  EXPECT_TRUE(two.succeeded()) << two.error;
  EXPECT_TRUE(clean(two.output)) << two.output;
  const ProcessOutput weighed = plimsoll({"weigh", "--device", "h200", file.string()});
  EXPECT_TRUE(weighed.succeeded()) << weighed.error;
  EXPECT_TRUE(clean(weighed.output)) << weighed.output;
  expect_one_message(plimsoll({"inspect", "--batch", "2", "--dim", evil + "=3", file.string()}), {});
  expect_one_message(plimsoll({"inspect", path("\x1b[31mred.onnx").string()}), {});
}
TEST_F(BadInput, ArgumentsWithEscapeSequences) {
  expect_one_message(plimsoll({"inspect", "\x1b[31mred"}), {});
  expect_one_message(plimsoll({"inspect", "resnet50:\x1b[31mred=1"}), {});
  expect_one_message(plimsoll({"devices", "\x1b[31mred"}), {});
}

TEST_F(BadInput, ModelWithoutNodes) {
  const auto file = store("nothing.onnx", model(graph({})));
  const ProcessOutput got = plimsoll({"inspect", file.string()});
  EXPECT_EQ(got.signal, 0);
  expect_one_message(got, {"nothing.onnx"});
}
TEST_F(BadInput, ModelWithoutGraph) {
  expect_refused_model(number_field(schema::model::kIrVersion, 8) +
                       text_field(schema::model::kOpsetImport, opset("", 17)));
}
TEST_F(BadInput, EveryCommandThatTakesAModelRefuses) {
  const auto file = store("bad.onnx", "nonsense");
  expect_one_message(plimsoll({"weigh", file.string()}), {"bad.onnx"});
  expect_one_message(plimsoll({"inspect", file.string(), "--json"}), {"bad.onnx"});
  expect_one_message(plimsoll({"inspect", "alexnet", file.string()}), {"bad.onnx"});
}

}  // namespace
}  // namespace plimsoll
