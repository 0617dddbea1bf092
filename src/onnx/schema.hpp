#pragma once
#include <cstdint>

/// The field numbers of onnx.proto3 (ONNX IR 3 to 11) that Plimsoll reads or writes; one namespace per
/// message.
namespace plimsoll::onnx::schema {

namespace model {
inline constexpr std::uint32_t kIrVersion = 1, kProducerName = 2, kProducerVersion = 3, kGraph = 7,
                               kOpsetImport = 8, kMetadata = 14, kFunctions = 25;
}
namespace opset {
inline constexpr std::uint32_t kDomain = 1, kVersion = 2;
}
namespace entry {  // StringStringEntryProto
inline constexpr std::uint32_t kKey = 1, kValue = 2;
}
namespace graph {
inline constexpr std::uint32_t kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12,
                               kValueInfo = 13, kSparseInitializer = 15;
}
namespace node {
inline constexpr std::uint32_t kInput = 1, kOutput = 2, kName = 3, kType = 4, kAttribute = 5, kDomain = 7,
                               kOverload = 8, kMetadata = 9;
}
namespace attribute {
inline constexpr std::uint32_t kName = 1, kReal = 2, kInteger = 3, kText = 4, kTensor = 5, kGraph = 6,
                               kReals = 7, kIntegers = 8, kTexts = 9, kType = 20, kReference = 21,
                               kSparseTensor = 22;
enum Type : std::int64_t {
  undefined = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  sparse_tensor = 11
};
}  // namespace attribute
namespace tensor {
inline constexpr std::uint32_t kDims = 1, kType = 2, kFloats = 4, kInt32s = 5, kStrings = 6, kInt64s = 7,
                               kName = 8, kRaw = 9, kDoubles = 10, kUint64s = 11, kExternal = 13,
                               kLocation = 14;
}
namespace sparse {
inline constexpr std::uint32_t kValues = 1, kIndices = 2, kDims = 3;
}
namespace value_info {
inline constexpr std::uint32_t kName = 1, kType = 2;
}
namespace type {
inline constexpr std::uint32_t kTensor = 1, kSequence = 4, kMap = 5, kSparseTensor = 8, kOptional = 9;
inline constexpr std::uint32_t kElement = 1, kShape = 2;  // within TypeProto.Tensor
inline constexpr std::uint32_t kDim = 1;                  // within TensorShapeProto
inline constexpr std::uint32_t kDimValue = 1, kDimName = 2;
}  // namespace type
namespace function {
inline constexpr std::uint32_t kName = 1, kInput = 4, kOutput = 5, kNode = 7, kOpsetImport = 9, kDomain = 10,
                               kDefault = 11, kOverload = 13;
}

/// Who wrote a file; the metadata entries below are looked for only in Plimsoll's own.
inline constexpr const char* kOwnProducer = "plimsoll";
/// Of a node: the version of its operator set, where it is not the model's (it came from a function that
/// imports another).
inline constexpr const char* kOpsetKey = "plimsoll.opset";

}  // namespace plimsoll::onnx::schema
