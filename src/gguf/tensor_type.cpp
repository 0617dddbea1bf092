#include "gguf/tensor_type.hpp"

#include <algorithm>
#include <array>

namespace plimsoll::gguf {
namespace {

using network::DataType;

constexpr std::array kTensorTypes = std::to_array<TensorType>({
    {0, "F32", 1, 4, DataType::float32},
    {1, "F16", 1, 2, DataType::float16},
    {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},
    {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},
    {9, "Q8_1", 32, 36},  // two halves and 32 bytes; only ever made while a product runs
    {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},
    {12, "Q4_K", 256, 144},
    {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},
    {15, "Q8_K", 256, 292},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1, DataType::int8},
    {25, "I16", 1, 2, DataType::int16},
    {26, "I32", 1, 4, DataType::int32},
    {27, "I64", 1, 8, DataType::int64},
    {28, "F64", 1, 8, DataType::float64},
    {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2, DataType::bfloat16},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
});

struct RemovedType {
  std::uint32_t number;
  std::string_view name;
};
constexpr std::array kRemovedTypes = std::to_array<RemovedType>({
    {4, "Q4_2"},
    {5, "Q4_3"},
    {31, "Q4_0_4_4"},
    {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"},
    {36, "IQ4_NL_4_4"},
    {37, "IQ4_NL_4_8"},
    {38, "IQ4_NL_8_8"},
});

}  // namespace

std::span<const TensorType> tensor_types() {
  return kTensorTypes;
}

const TensorType* find_tensor_type(std::uint32_t number) {
  const auto* const found = std::ranges::find(kTensorTypes, number, &TensorType::number);
  return found == kTensorTypes.end() ? nullptr : &*found;
}

std::string_view removed_tensor_type(std::uint32_t number) {
  const auto* const found = std::ranges::find(kRemovedTypes, number, &RemovedType::number);
  return found == kRemovedTypes.end() ? std::string_view() : found->name;
}

}  // namespace plimsoll::gguf
