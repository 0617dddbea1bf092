#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {

std::vector<Entry> bert_entries() { return {}; }

}  // namespace plimsoll::network::zoo
