#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {

std::vector<Entry> vision_transformer_entries() { return {}; }

}  // namespace plimsoll::network::zoo
