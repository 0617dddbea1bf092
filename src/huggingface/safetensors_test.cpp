#include "huggingface/safetensors.hpp"

#include <fstream>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "huggingface/description.hpp"
#include "huggingface/model.hpp"
#include "network/builder.hpp"

namespace plimsoll::huggingface {
namespace {

namespace fs = std::filesystem;
using network::DataType;
using network::Network;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A file whose header says so and whose data are zeros.
std::string file_of(const std::map<std::string, std::pair<std::string, std::vector<std::int64_t>>>& arrays) {
  std::string header = "{";
  std::int64_t offset = 0;
  for (const auto& [name, what] : arrays) {
    const auto& [type, dims] = what;
    std::int64_t bytes = type == "F32" ? 4 : type == "F8_E4M3" || type == "I8" ? 1 : 2;
    for (const std::int64_t d : dims) bytes *= d;
    header +=
        fmt::format(R"({}"{}": {{"dtype": "{}", "shape": [{}], "data_offsets": [{}, {}]}})",
                    header.size() > 1 ? "," : "", name, type, fmt::join(dims, ", "), offset, offset + bytes);
    offset += bytes;
  }
  header += "}";
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return out + header + std::string(static_cast<std::size_t>(offset), '\0');
}

class CheckpointFolder : public testing::Test {
 protected:
  void SetUp() override {
    Result<TemporaryDirectory> made = TemporaryDirectory::make();
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
  }
  void put(const fs::path& name, const std::string& bytes) const {
    fs::create_directories((folder_->path() / name).parent_path());
    std::ofstream(folder_->path() / name, std::ios::binary) << bytes;
  }
  std::optional<TemporaryDirectory> folder_;
};

TEST_F(CheckpointFolder, WithoutWeightsThereIsNone) {
  const auto none = read_checkpoint(folder_->path());
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST_F(CheckpointFolder, OneFileAndShardsAreRead) {
  put("model.safetensors", file_of({{"a", {"BF16", {2, 3}}}, {"b", {"F32", {4}}}}));
  auto one = read_checkpoint(folder_->path());
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ((*one)->files, 1);
  EXPECT_EQ((*one)->weights.at("a").bytes, 12);
  EXPECT_EQ((*one)->weights.at("a").type, DataType::bfloat16);
  // An index goes before: it says what belongs together.
  put("s1.safetensors", file_of({{"a", {"F16", {8}}}, {"left out", {"F16", {8}}}}));
  put("s2.safetensors", file_of({{"c", {"I8", {3}}}}));
  put("model.safetensors.index.json", R"({"weight_map": {"a": "s1.safetensors", "c": "s2.safetensors"}})");
  const auto sharded = read_checkpoint(folder_->path());
  ASSERT_TRUE(sharded) << sharded.error().text();
  EXPECT_EQ((*sharded)->files, 2);
  EXPECT_EQ((*sharded)->weights.size(), 2U);
  EXPECT_EQ((*sharded)->weights.at("c").bytes, 3);
}

TEST_F(CheckpointFolder, AnIndexThatLiesIsRefused) {
  put("s1.safetensors", file_of({{"a", {"F16", {8}}}}));
  const auto error = [this](const std::string& index) {
    put("model.safetensors.index.json", index);
    const auto read = read_checkpoint(folder_->path());
    return read ? std::string("read") : read.error().text();
  };
  EXPECT_THAT(error(R"({"weight_map": {"b": "s1.safetensors"}})"),
              HasSubstr("'b' is not in 's1.safetensors'"));
  EXPECT_THAT(error(R"({"weight_map": {"a": "s9.safetensors"}})"), HasSubstr("s9.safetensors"));
  for (const char* bad : {"../s1.safetensors", "/etc/passwd", "sub/s1.safetensors", "..", "", "a\\\\b"})
    EXPECT_THAT(error(fmt::format(R"({{"weight_map": {{"a": "{}"}}}})", bad)),
                HasSubstr("not the plain name"))
        << bad;
  EXPECT_THAT(error(R"({"weight_map": {"a": 1}})"), HasSubstr("is not the name of a file"));
  EXPECT_THAT(error(R"({"weight_map": []})"), HasSubstr("not an object"));
  EXPECT_THAT(error(R"({})"), HasSubstr("weight_map"));
  EXPECT_THAT(error("nonsense"), HasSubstr("not JSON"));
}

TEST_F(CheckpointFolder, LinksLeadNowhereElse) {
  put("elsewhere/w.safetensors", file_of({{"a", {"F16", {8}}}}));
  put("model/config.json", "{}");
  fs::create_symlink("../elsewhere/w.safetensors", folder_->path() / "model/model.safetensors");
  const auto outside = read_checkpoint(folder_->path() / "model");
  ASSERT_FALSE(outside);
  EXPECT_THAT(outside.error().text(), HasSubstr("link to a file outside"));
  // As the hub's cache has it.
  put("cache/models--x/blobs/0123", file_of({{"a", {"F16", {8}}}}));
  put("cache/models--x/snapshots/rev/config.json", "{}");
  fs::create_symlink("../../blobs/0123", folder_->path() / "cache/models--x/snapshots/rev/model.safetensors");
  const auto cached = read_checkpoint(folder_->path() / "cache/models--x/snapshots/rev");
  ASSERT_TRUE(cached) << cached.error().text();
  EXPECT_EQ((*cached)->weights.size(), 1U);
  // An index, as any other file.
  put("elsewhere/index.json", R"({"weight_map": {}})");
  put("other/config.json", "{}");
  fs::create_symlink("../elsewhere/index.json", folder_->path() / "other/model.safetensors.index.json");
  const auto index = read_checkpoint(folder_->path() / "other");
  ASSERT_FALSE(index);
  EXPECT_THAT(index.error().text(), HasSubstr("link to a file outside"));
}

TEST_F(CheckpointFolder, WhatIsNoRegularFileIsRefusedAndNotWaitedFor) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    ASSERT_EQ(::mkfifo((folder_->path() / name).c_str(), 0600), 0);
    const auto read = read_checkpoint(folder_->path());
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().text(), HasSubstr(fmt::format("{}: is not a regular file", name)));
  }
  ASSERT_EQ(::mkfifo((folder_->path() / "config.json").c_str(), 0600), 0);
  const Result<Model> model = read(folder_->path() / "config.json", network::Mode::infer);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().text(), HasSubstr("config.json: is not a regular file"));
}

TEST_F(CheckpointFolder, AllShardsTogetherHaveLimits) {
  put("s1.safetensors", file_of({{"a", {"F16", {8}}}, {"b", {"F16", {8}}}}));
  put("s2.safetensors", file_of({{"c", {"F16", {8}}}}));
  put("model.safetensors.index.json", R"({"weight_map": {"a": "s1.safetensors", "c": "s2.safetensors"}})");
  const auto error = [this](const CheckpointLimits& limits) {
    const auto read = read_checkpoint(folder_->path(), limits);
    return read ? std::string("read") : read.error().text();
  };
  EXPECT_EQ(error({}), "read");
  EXPECT_EQ(error({.tensors = 3}), "read");
  EXPECT_THAT(error({.tensors = 2}),
              HasSubstr("s2.safetensors: with it the safetensors files have more than 2"));
  EXPECT_THAT(error({.header_bytes = 160}), HasSubstr("s2.safetensors: with it the headers"));
}

TEST_F(CheckpointFolder, WhatIsQuantisedBesideWhatIsNotIsTold) {
  put("config.json", R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 12, "vocab_size": 8, "n_positions": 4,
                         "quantization_config": {"quant_method": "fp8"}})");
  const auto told = [this] {
    const Result<Model> model = read(folder_->path() / "config.json", network::Mode::infer);
    EXPECT_TRUE(model) << model.error().text();
    std::string found = "nothing";
    for (const std::string& note : model ? model->notes : std::vector<std::string>())
      if (note.starts_with("quantization_config")) found = note;
    return found;
  };
  EXPECT_EQ(told(), kQuantizationIgnored);
  put("model.safetensors", file_of({{"transformer.wpe.weight", {"F8_E4M3", {4, 12}}}}));
  EXPECT_EQ(told(), kQuantizationIgnoredInPart);
  put("model.safetensors", file_of({{"wte.weight", {"F8_E4M3", {8, 12}}},
                                    {"wpe.weight", {"F8_E4M3", {4, 12}}},
                                    {"ln_f.weight", {"F32", {12}}},
                                    {"ln_f.bias", {"F32", {12}}},
                                    {"h.0.ln_1.weight", {"F32", {12}}},
                                    {"h.0.ln_1.bias", {"F32", {12}}},
                                    {"h.0.ln_2.weight", {"F32", {12}}},
                                    {"h.0.ln_2.bias", {"F32", {12}}},
                                    {"h.0.attn.c_attn.weight", {"F8_E4M3", {12, 36}}},
                                    {"h.0.attn.c_attn.bias", {"F32", {36}}},
                                    {"h.0.attn.c_proj.weight", {"F8_E4M3", {12, 12}}},
                                    {"h.0.attn.c_proj.bias", {"F32", {12}}},
                                    {"h.0.mlp.c_fc.weight", {"F8_E4M3", {12, 48}}},
                                    {"h.0.mlp.c_fc.bias", {"F32", {48}}},
                                    {"h.0.mlp.c_proj.weight", {"F8_E4M3", {48, 12}}},
                                    {"h.0.mlp.c_proj.bias", {"F32", {12}}}}));
  EXPECT_EQ(told(), "nothing");
}

Network network_of(std::initializer_list<std::pair<const char*, std::vector<std::int64_t>>> weights) {
  network::Builder b("test");
  for (const auto& [name, extents] : weights) {
    std::vector<network::Dim> dims;
    for (const std::int64_t extent : extents) dims.push_back(network::Dim::of(extent));
    (void)b.weight(name, DataType::float32, dims);
  }
  return std::move(b).finish();
}

Checkpoint checkpoint_of(
    std::initializer_list<std::tuple<const char*, DataType, std::vector<std::int64_t>>> arrays) {
  Checkpoint out;
  for (const auto& [name, type, dims] : arrays) {
    std::int64_t elements = 1;
    for (const std::int64_t d : dims) elements *= d;
    out.weights[name] = {type, dims, 0, *network::packed_bytes(type, elements)};
  }
  return out;
}

std::string stored(const Network& network, std::size_t weight) {
  const network::StoredWeight* const row = network.stored_of(network.main().weights[weight]);
  if (row == nullptr) return "in its type";
  return fmt::format("{} {}{}", network.view(row->format), row->bytes, row->kept ? " kept" : "");
}

TEST(Checkpoint, NamesMatchAlsoWithoutTheFirstPart) {
  Network n =
      network_of({{"model.a.weight", {2, 3}}, {"model.b.weight", {4}}, {"c", {5}}, {"lm_head.weight", {8}}});
  const Matches found = apply(checkpoint_of({{"model.a.weight", DataType::bfloat16, {3, 2}},
                                             {"b.weight", DataType::float16, {4}},
                                             {"transformer.c", DataType::float32, {5}},
                                             {"lm_head.weight", DataType::float8e4m3fn, {8}}}),
                              n);
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_EQ(stored(n, 0), "bfloat16 12");
  EXPECT_EQ(stored(n, 1), "float16 8");
  EXPECT_EQ(stored(n, 2), "in its type");
  EXPECT_EQ(stored(n, 3), "float8e4m3fn 8 kept");
}

TEST(Checkpoint, WhatDoesNotMatchIsTold) {
  Network n = network_of({{"a", {2, 3}}, {"b", {4}}, {"x.c", {4}}});
  const Matches found = apply(checkpoint_of({{"a", DataType::bfloat16, {7}},
                                             {"p.x.c", DataType::bfloat16, {4}},
                                             {"q.x.c", DataType::bfloat16, {4}},
                                             {"d", DataType::bfloat16, {512}}}),
                              n);
  EXPECT_THAT(
      found.notes,
      ElementsAre(HasSubstr("2 weights are not in the safetensors files, and count as float32: b, x.c"),
                  HasSubstr("a [7] for [2, 3]"),
                  HasSubstr("4 tensors of the safetensors files (1.03 KiB) are not part")));
  EXPECT_EQ(found.unmatched, 3U);
  EXPECT_TRUE(n.stored.empty());
}

TEST(Checkpoint, ExpertsOneByOneAreTheStackedOnes) {
  Network n = network_of({{"model.layers.0.mlp.experts.gate_up_proj", {2, 6, 4}},
                          {"model.layers.0.mlp.experts.down_proj", {2, 4, 3}}});
  const auto array = [](const char* name, std::vector<std::int64_t> dims) {
    return std::tuple(name, DataType::bfloat16, std::move(dims));
  };
  const Matches found =
      apply(checkpoint_of({array("model.layers.0.block_sparse_moe.experts.0.w1.weight", {3, 4}),
                           array("model.layers.0.block_sparse_moe.experts.0.w2.weight", {4, 3}),
                           array("model.layers.0.block_sparse_moe.experts.0.w3.weight", {3, 4}),
                           array("model.layers.0.block_sparse_moe.experts.1.w1.weight", {3, 4}),
                           array("model.layers.0.block_sparse_moe.experts.1.w2.weight", {4, 3}),
                           array("model.layers.0.block_sparse_moe.experts.1.w3.weight", {3, 4})}),
            n);
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_EQ(stored(n, 0), "bfloat16 96");
  EXPECT_EQ(stored(n, 1), "bfloat16 48");
}

TEST(Checkpoint, ScalesOfExpertsAreNoneOfTheirValues) {
  Network n = network_of({{"model.layers.0.mlp.experts.gate_up_proj", {1, 6, 4}},
                          {"model.layers.0.mlp.experts.down_proj", {1, 4, 3}}});
  const auto array = [](const char* name, std::vector<std::int64_t> dims) {
    return std::tuple(name, DataType::float8e4m3fn, std::move(dims));
  };
  const auto scale = [](const char* name) {
    return std::tuple(name, DataType::float32, std::vector{1L, 1L});
  };
  const Matches matches =
      apply(checkpoint_of({array("model.layers.0.mlp.experts.0.gate_proj.weight", {3, 4}),
                           scale("model.layers.0.mlp.experts.0.gate_proj.weight_scale_inv"),
                           array("model.layers.0.mlp.experts.0.up_proj.weight", {3, 4}),
                           scale("model.layers.0.mlp.experts.0.up_proj.weight_scale_inv"),
                           array("model.layers.0.mlp.experts.0.down_proj.weight", {4, 3}),
                           scale("model.layers.0.mlp.experts.0.down_proj.weight_scale_inv")}),
            n);
  EXPECT_EQ(stored(n, 0), "float8e4m3fn 24 kept");
  EXPECT_EQ(stored(n, 1), "float8e4m3fn 12 kept");
  EXPECT_EQ(matches.unmatched, 0U);
  EXPECT_THAT(matches.notes,
              ElementsAre(HasSubstr("3 tensors of the safetensors files (12 B) are not part")));
}

}  // namespace
}  // namespace plimsoll::huggingface
