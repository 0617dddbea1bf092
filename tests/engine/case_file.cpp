#include "case_file.hpp"

#include <fstream>
#include <iterator>

#include "onnx/tensor_proto.hpp"
#include "onnx/wire.hpp"
#include "stored_weights.hpp"

namespace plimsoll {
namespace {

using network::DataType;
using onnx::bytes_field;
using onnx::Fields;
using onnx::ValueInfo;

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Result<at::Tensor> read_tensor(std::string_view message, DataType declared) {
  const Result<onnx::StoredTensor> stored = onnx::decode_tensor(message);
  PLIMSOLL_TRY(stored);
  // numpy has no bfloat16: the generator stored such tensors as uint16.
  const bool bfloat = declared == DataType::bfloat16 && stored->type == DataType::uint16;
  std::vector<std::int64_t> dims;
  for (const network::Dim d : stored->dims.dims()) dims.push_back(d.value());
  std::vector<std::byte> gathered;
  std::span<const std::byte> bytes = std::as_bytes(std::span(stored->raw));
  if (stored->storage != onnx::Storage::raw && stored->elements > 0) {
    PLIMSOLL_TRY(onnx::gather_typed(message, stored->storage, stored->type, gathered));
    bytes = gathered;
  }
  return tensor_of(bytes, bfloat ? DataType::bfloat16 : stored->type, std::move(dims));
}

/// Tensors stand in field 3 of a SequenceProto and of an OptionalProto, a sequence in field 5 of the latter.
Result<engine::Value> read_parts(std::string_view message, ValueInfo::Form form, DataType declared) {
  engine::Value value;
  if (form == ValueInfo::Form::tensor) {
    Result<at::Tensor> tensor = read_tensor(message, declared);
    PLIMSOLL_TRY(tensor);
    value.tensor = std::move(*tensor);
    return value;
  }
  value.is_sequence = form == ValueInfo::Form::sequence;
  for (Fields f(message); f.next();) {
    if (f.key() == bytes_field(5)) return read_parts(f.bytes(), ValueInfo::Form::sequence, declared);
    if (f.key() != bytes_field(3)) continue;
    Result<at::Tensor> tensor = read_tensor(f.bytes(), declared);
    PLIMSOLL_TRY(tensor);
    if (!value.is_sequence)
      value.tensor = std::move(*tensor);
    else
      value.sequence.push_back(std::move(*tensor));
  }
  return value;
}

}  // namespace

/// ModelProto.graph is field 7; GraphProto.input 11, .output 12.
Result<Declarations> read_declarations(const std::filesystem::path& model) {
  const std::string file = contents(model);
  Declarations out;
  for (Fields m(file); m.next();) {
    if (m.key() != bytes_field(7)) continue;
    for (Fields g(m.bytes()); g.next();) {
      if (g.key() != bytes_field(11) && g.key() != bytes_field(12)) continue;
      const Result<ValueInfo> info = onnx::decode_value_info(g.bytes());
      PLIMSOLL_TRY(info);
      (g.key() == bytes_field(11) ? out.inputs : out.outputs)
          .push_back({std::string(info->name), info->form, info->type});
    }
  }
  return out;
}

Result<engine::Value> read_value(const std::filesystem::path& file, const Declared& declared) {
  return read_parts(contents(file), declared.form, declared.type);
}

}  // namespace plimsoll
