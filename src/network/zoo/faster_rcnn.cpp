#include "network/zoo/families.hpp"

namespace plimsoll::network::zoo {

std::vector<Entry> faster_rcnn_entries() { return {}; }

}  // namespace plimsoll::network::zoo
