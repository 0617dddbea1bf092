#include "serve/http/socket_table.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <type_traits>

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace plimsoll::serve {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr std::size_t kIp4At = kMapped.size();
constexpr std::size_t kAlignment = 4;  // of netlink's messages and attributes

/// Whether a process may have it open. The owner of a socket in another state is another's or made up: of one
/// in TIME_WAIT, of one that is just coming about, the kernel shows root; SYN_SENT may be one that tries to
/// get the ends of a connection that was given up.
bool is_connected(unsigned state) {
  return state == TCP_ESTABLISHED || state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2 ||
         state == TCP_CLOSE_WAIT || state == TCP_LAST_ACK || state == TCP_CLOSING;
}

/// `inode` 0: no process has it open any more, and the owner may be shown as root's.
bool counts(const SocketEnds& ends, unsigned state, std::uint64_t inode) {
  const bool listens = ends.far == Endpoint{};
  return inode != 0 && (listens ? state == TCP_LISTEN : is_connected(state));
}

template <class T>
  requires std::is_trivially_copyable_v<T>
std::optional<T> read_at(std::string_view bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// IPv4 as the family says, not the address: the rest of the field is not of it.
Endpoint endpoint(const __be32* address, __be16 port, unsigned family) {
  if (family == AF_INET) return ip4_endpoint(address, ntohs(port));
  Endpoint end{.port = ntohs(port)};
  std::memcpy(end.address.data(), address, end.address.size());
  return end;
}

Owner owner_in_message(const inet_diag_msg& message, const SocketEnds& ends) {
  const unsigned family = message.idiag_family;
  if (family != AF_INET && family != AF_INET6) return std::unexpected(NoOwner::untold);
  SocketEnds found{endpoint(message.id.idiag_src, message.id.idiag_sport, family),
                   endpoint(message.id.idiag_dst, message.id.idiag_dport, family)};
  if (found.far == ip4_endpoint("\0\0\0\0", 0)) found.far = {};
  if (found != ends || !counts(ends, message.idiag_state, message.idiag_inode))
    return std::unexpected(NoOwner::gone);
  return message.idiag_uid;
}

}  // namespace

bool is_ip4(const Endpoint& end) {
  return std::equal(kMapped.begin(), kMapped.end(), end.address.begin());
}

Endpoint ip4_endpoint(const void* address, std::uint16_t port) {
  Endpoint end{.port = port};
  std::ranges::copy(kMapped, end.address.begin());
  std::memcpy(end.address.data() + kIp4At, address, end.address.size() - kIp4At);
  return end;
}

std::string diag_request(const SocketEnds& ends, std::uint32_t sequence) {
  struct {
    nlmsghdr header = {};
    inet_diag_req_v2 question = {};
  } request;
  static_assert(sizeof request == sizeof(nlmsghdr) + sizeof(inet_diag_req_v2));
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_seq = sequence;
  request.question.sdiag_family = is_ip4(ends.own) ? AF_INET : AF_INET6;
  request.question.sdiag_protocol = IPPROTO_TCP;
  request.question.idiag_states = ~0U;
  inet_diag_sockid& id = request.question.id;
  const std::size_t skipped = is_ip4(ends.own) ? kIp4At : 0;
  id.idiag_sport = htons(ends.own.port);
  id.idiag_dport = htons(ends.far.port);
  std::memcpy(id.idiag_src, ends.own.address.data() + skipped, ends.own.address.size() - skipped);
  std::memcpy(id.idiag_dst, ends.far.address.data() + skipped, ends.far.address.size() - skipped);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return {reinterpret_cast<const char*>(&request), sizeof request};
}

Owner owner_in_answer(std::string_view answer, const SocketEnds& ends, std::uint32_t sequence) {
  while (const auto header = read_at<nlmsghdr>(answer, 0)) {
    if (header->nlmsg_len < sizeof(nlmsghdr) || header->nlmsg_len > answer.size()) break;
    const std::string_view message = answer.substr(0, header->nlmsg_len);
    const std::size_t padded = (message.size() + kAlignment - 1) / kAlignment * kAlignment;
    answer.remove_prefix(std::min(padded, answer.size()));
    if (header->nlmsg_seq != sequence) continue;  // the answer to a question that was given up
    if (header->nlmsg_type == NLMSG_ERROR) {
      const auto error = read_at<int>(message, sizeof(nlmsghdr));
      return std::unexpected(error && *error == -ENOENT ? NoOwner::gone : NoOwner::untold);
    }
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) break;
    const auto socket = read_at<inet_diag_msg>(message, sizeof(nlmsghdr));
    if (!socket) break;
    return owner_in_message(*socket, ends);
  }
  return std::unexpected(NoOwner::untold);
}

namespace {

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

template <class T>
std::optional<T> number(std::string_view text, int base) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "0100007F:1388": the address in words of 32 bits, each as a number of this machine; the port as a number.
std::optional<Endpoint> endpoint_in_table(std::string_view text) {
  constexpr std::size_t kDigits = 8;
  const std::size_t colon = text.find(':');
  if (colon != kDigits && colon != 4 * kDigits) return std::nullopt;
  const auto port = number<std::uint16_t>(text.substr(colon + 1), 16);
  if (!port) return std::nullopt;
  std::array<std::uint32_t, 4> words = {};
  for (std::size_t i = 0; i < colon / kDigits; ++i) {
    const auto word = number<std::uint32_t>(text.substr(i * kDigits, kDigits), 16);
    if (!word) return std::nullopt;
    words.at(i) = *word;
  }
  if (colon == kDigits) return ip4_endpoint(words.data(), *port);
  return Endpoint{std::bit_cast<std::array<std::uint8_t, 16>>(words), *port};
}

/// Nothing where the line is of another socket.
std::optional<Owner> owner_in_line(std::string_view line, const SocketEnds& ends) {
  next_word(line);  // its number
  const auto own = endpoint_in_table(next_word(line));
  if (!own || *own != ends.own) return std::nullopt;
  auto far = endpoint_in_table(next_word(line));
  if (far && *far == ip4_endpoint("\0\0\0\0", 0)) far = Endpoint{};
  if (!far || *far != ends.far) return std::nullopt;
  const auto state = number<unsigned>(next_word(line), 16);
  for (int skipped = 0; skipped < 3; ++skipped) next_word(line);  // queues, timer, retransmissions
  const auto owner = number<uid_t>(next_word(line), 10);
  next_word(line);  // timeouts
  const auto inode = number<std::uint64_t>(next_word(line), 10);
  if (!state || !owner || !inode) return std::unexpected(NoOwner::untold);
  if (!counts(ends, *state, *inode)) return std::unexpected(NoOwner::gone);
  return *owner;
}

}  // namespace

Owner owner_in_table(std::string_view table, const SocketEnds& ends) {
  Owner owner = std::unexpected(table.empty() ? NoOwner::untold : NoOwner::gone);
  while (!table.empty()) {
    const std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(line.size() + 1, table.size()));
    const auto found = owner_in_line(line, ends);
    if (!found) continue;
    if (*found) return *found;
    owner = *found;
  }
  return owner;
}

}  // namespace plimsoll::serve
