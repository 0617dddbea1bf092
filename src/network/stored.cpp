#include "network/stored.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "network/saturating.hpp"

namespace plimsoll::network {

void set_stored(Network& network, std::vector<StoredAs> weights) {
  std::ranges::sort(weights, {}, &StoredAs::tensor);
  std::map<std::string_view, Range> formats;
  network.stored.clear();
  for (const StoredAs& weight : weights) {
    const auto [format, fresh] = formats.try_emplace(weight.format);
    if (fresh) {
      format->second = {static_cast<std::uint32_t>(network.text.size()),
                        static_cast<std::uint32_t>(weight.format.size())};
      network.text.append(weight.format);
    }
    network.stored.push_back({weight.tensor, format->second, weight.bytes, weight.kept});
  }
}

DataType kept_type(DataType type, Precision precision) {
  if (type != DataType::float32 && type != DataType::float16 && type != DataType::bfloat16) return type;
  switch (precision) {
    case Precision::fp16: return DataType::float16;
    case Precision::bf16: return DataType::bfloat16;
    case Precision::int8: return DataType::int8;
    default: return type;
  }
}

void WeightSizes::add(DataType type, std::int64_t count) {
  std::int64_t& of_type = elements[static_cast<std::size_t>(type)];
  of_type = sum(of_type, count);
}

std::int64_t WeightSizes::bytes(Precision precision) const {
  std::int64_t total = kept;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] == kUnbounded) return kUnbounded;
    const DataType type = kept_type(static_cast<DataType>(i), precision);
    total = sum(total, packed_bytes(type, elements[i]).value_or(kUnbounded));
  }
  return total;
}

}  // namespace plimsoll::network
