#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {

std::vector<Entry> gpt_entries() { return {}; }

}  // namespace plimsoll::network::zoo
