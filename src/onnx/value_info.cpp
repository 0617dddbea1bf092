#include "onnx/value_info.hpp"

#include "onnx/schema.hpp"
#include "onnx/wire.hpp"

namespace plimsoll::onnx {
namespace {

Status decode_extent(std::string_view message, ValueInfo& info) {
  if (info.rank == network::kMaxRank) return fail("a rank over {} is not supported", network::kMaxRank);
  ValueInfo::Extent& extent = info.extents[info.rank++];
  extent = {};
  for (Fields f(message); f.next();) {
    if (f.key() == varint_field(schema::type::kDimValue)) {
      extent.value = f.integer();
      extent.has_value = true;
    } else if (f.key() == bytes_field(schema::type::kDimName)) {
      extent.name = f.bytes();
    }
  }
  if (extent.has_value && extent.value < 0) return fail("has a negative dimension ({})", extent.value);
  return {};
}

Status decode_tensor_type(std::string_view message, ValueInfo& info) {
  info.form = ValueInfo::Form::tensor;
  for (Fields f(message); f.next();) {
    if (f.key() == varint_field(schema::type::kElement)) {
      const auto type = network::data_type_from_number(f.integer());
      if (!type) return fail("has element type {}, which ONNX does not define", f.integer());
      info.type = *type;
    } else if (f.key() == bytes_field(schema::type::kShape)) {
      info.has_shape = true;
      for (Fields dims(f.bytes()); dims.next();)
        if (dims.key() == bytes_field(schema::type::kDim)) PLIMSOLL_TRY(decode_extent(dims.bytes(), info));
    }
  }
  return {};
}

Status check_size(const ValueInfo& info) {
  std::int64_t elements = 1;
  for (const ValueInfo::Extent& extent : info.shape())
    if (!extent.has_value || extent.value == 0) return {};
  for (const ValueInfo::Extent& extent : info.shape())
    if (__builtin_mul_overflow(elements, extent.value, &elements)) return fail("has more than 2^63 elements");
  if (!network::packed_bytes(info.type, elements)) return fail("has more than 2^63 bytes");
  return {};
}

}  // namespace

std::string_view decode_value_name(std::string_view message) {
  std::string_view name;
  for (Fields f(message); f.next();)
    if (f.key() == bytes_field(schema::value_info::kName)) name = f.bytes();
  return name;
}

Result<ValueInfo> decode_value_info(std::string_view message) {
  ValueInfo info;
  std::string_view type;
  for (Fields f(message); f.next();) {
    if (f.key() == bytes_field(schema::value_info::kName)) info.name = f.bytes();
    if (f.key() == bytes_field(schema::value_info::kType)) type = f.bytes();
  }
  for (Fields f(type); f.next();) {
    switch (f.key()) {
      case bytes_field(schema::type::kTensor):
      case bytes_field(schema::type::kSparseTensor): PLIMSOLL_TRY(decode_tensor_type(f.bytes(), info)); break;
      case bytes_field(schema::type::kSequence): info.form = ValueInfo::Form::sequence; break;
      case bytes_field(schema::type::kOptional): info.form = ValueInfo::Form::optional; break;
      case bytes_field(schema::type::kMap): info.form = ValueInfo::Form::map; break;
      default: break;
    }
  }
  PLIMSOLL_TRY(check_size(info));
  return info;
}

}  // namespace plimsoll::onnx
