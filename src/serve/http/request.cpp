#include "serve/http/request.hpp"

#include <unistd.h>

namespace plimsoll::serve {

ReceivedFile::~ReceivedFile() {
  if (!path_.empty()) (void)::unlink(path_.c_str());
}

}  // namespace plimsoll::serve
