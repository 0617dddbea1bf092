#include "base/random_text.hpp"

#include <cerrno>
#include <system_error>
#include <vector>

#include <sys/random.h>

namespace plimsoll {

Result<std::string> random_hex(std::size_t bytes) {
  std::vector<unsigned char> drawn(bytes);
  for (std::size_t have = 0; have < bytes;) {
    const ssize_t count = ::getrandom(drawn.data() + have, bytes - have, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return std::unexpected(
          Error{"the system gives no random numbers: " + std::generic_category().message(errno),
                {},
                {},
                Error::Kind::machine_lacks});
    have += static_cast<std::size_t>(count);
  }
  std::string out;
  for (const unsigned char byte : drawn) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace plimsoll
