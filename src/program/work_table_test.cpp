#include "program/work_table.hpp"

#include <iostream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "network/operators.hpp"

namespace plimsoll::program {
namespace {

std::string full_name(std::string_view domain, std::string_view name) {
  return domain.empty() ? std::string(name) : std::string(domain) + "." + std::string(name);
}

TEST(WorkTable, EveryRowNamesAnOperatorThatIsKnown) {
  std::set<std::string> seen;
  for (const WorkRow& row : work_table()) {
    const std::string name = full_name(row.domain, row.name);
    EXPECT_NE(network::find_operator(row.domain, row.name), network::kUnknownKind) << name;
    EXPECT_TRUE(seen.insert(name).second) << name << " stands there twice";
    EXPECT_NE(row.formula, nullptr) << name;
    EXPECT_GE(row.cost, 0) << name;
    EXPECT_GE(row.backward_cost, 0) << name;
  }
}

/// Operators whose shapes are known and whose work nobody has written down: `inspect` lists them as not
/// counted. A new operator belongs into the work table; one that cannot be counted, here, with the reason.
const std::set<std::string> kWithoutWork = {
    // texts and pictures, no arithmetic that FLOPs would tell of
    "ImageDecoder",
    "RegexFullMatch",
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
    "TfIdfVectorizer",
    // withdrawn before ONNX 1.0
    "Affine",
    "ImageScaler",
    "ParametricSoftplus",
    "ScaledTanh",
    // classical models and optimizers, no layers
    "ai.onnx.ml.ArrayFeatureExtractor",
    "ai.onnx.ml.Binarizer",
    "ai.onnx.ml.Imputer",
    "ai.onnx.ml.Normalizer",
    "ai.onnx.ml.Scaler",
    "ai.onnx.preview.training.Adagrad",
    "ai.onnx.preview.training.Adam",
    "ai.onnx.preview.training.Gradient",
    "ai.onnx.preview.training.Momentum",
    // ONNX Runtime's, seldom seen in files; not written down yet
    "com.microsoft.BitmaskBiasDropout",
    "com.microsoft.BitmaskDropout",
    "com.microsoft.CDist",
    "com.microsoft.ComplexMul",
    "com.microsoft.ComplexMulConj",
    "com.microsoft.CropAndResize",
    "com.microsoft.DecoderMaskedSelfAttention",
    "com.microsoft.GatedRelativePositionBias",
    "com.microsoft.GatherBlockQuantized",
    "com.microsoft.GemmFloat8",
    "com.microsoft.LongformerAttention",
    "com.microsoft.MRotaryEmbedding",
    "com.microsoft.MatMulBnb4",
    "com.microsoft.MatMulInteger16",
    "com.microsoft.MaxpoolWithMask",
    "com.microsoft.MulInteger",
    "com.microsoft.NGramRepeatBlock",
    "com.microsoft.PackedAttention",
    "com.microsoft.PackedMultiHeadAttention",
    "com.microsoft.QLinearReduceMean",
    "com.microsoft.QLinearWhere",
    "com.microsoft.QMoE",
    "com.microsoft.RelativePositionBias",
    "com.microsoft.RemovePadding",
    "com.microsoft.RestorePadding",
    "com.microsoft.SparseAttention",
    "com.microsoft.TorchEmbedding",
    "com.microsoft.TransposeMatMul",
    "com.microsoft.UnfoldTensor",
};

TEST(WorkTable, NoOperatorIsForgotten) {
  std::set<std::string> missing;
  for (std::size_t i = 0; i < network::operator_table().size(); ++i) {
    const network::OperatorInfo& row = network::operator_table()[i];
    if (row.infer == nullptr) continue;
    if (find_work(static_cast<network::OperatorKind>(i)) == nullptr)
      missing.insert(full_name(row.domain, row.name));
  }
  std::cout << missing.size() << " operators have shapes and no work:";
  for (const std::string& name : missing) std::cout << ' ' << name;
  std::cout << '\n';
  for (const std::string& name : missing)
    EXPECT_TRUE(kWithoutWork.contains(name)) << name << " has no row in the work table";
  for (const std::string& name : kWithoutWork)
    EXPECT_TRUE(missing.contains(name)) << name << " has a row now, or is gone: take it off this list";
}

}  // namespace
}  // namespace plimsoll::program
