#include "serve/http/socket_table.hpp"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace plimsoll::serve {
namespace {

constexpr std::uint32_t kSequence = 7;
constexpr std::uint16_t kClientPort = 43412, kServerPort = 5000;

Endpoint ip4(const char* text, std::uint16_t port) {
  in_addr address{};
  EXPECT_EQ(::inet_pton(AF_INET, text, &address), 1) << text;
  return ip4_endpoint(&address, port);
}
Endpoint ip6(const char* text, std::uint16_t port) {
  Endpoint end{.port = port};
  EXPECT_EQ(::inet_pton(AF_INET6, text, end.address.data()), 1) << text;
  return end;
}

SocketEnds ends4() {
  return {ip4("127.0.0.1", kClientPort), ip4("127.0.0.1", kServerPort)};
}
SocketEnds ends6() {
  return {ip6("::1", kClientPort), ip6("::1", kServerPort)};
}

/// A socket as the kernel tells of it.
struct Told {
  unsigned family = AF_INET;
  const char* own = "127.0.0.1";
  const char* far = "127.0.0.1";
  std::uint16_t own_port = kClientPort, far_port = kServerPort;
  unsigned state = TCP_ESTABLISHED;
  uid_t owner = 1000;
  std::uint32_t inode = 4711;
  std::uint32_t sequence = kSequence;
};

template <class Payload>
std::string message(unsigned type, const Payload& payload, std::uint32_t sequence) {
  nlmsghdr header{};
  header.nlmsg_len = sizeof header + sizeof payload;
  header.nlmsg_type = static_cast<std::uint16_t>(type);
  header.nlmsg_seq = sequence;
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(reinterpret_cast<const char*>(&payload), sizeof payload);
}

std::string answer(const Told& told) {
  inet_diag_msg socket{};
  socket.idiag_family = static_cast<std::uint8_t>(told.family);
  socket.idiag_state = static_cast<std::uint8_t>(told.state);
  socket.idiag_uid = told.owner;
  socket.idiag_inode = told.inode;
  socket.id.idiag_sport = htons(told.own_port);
  socket.id.idiag_dport = htons(told.far_port);
  const int family = static_cast<int>(told.family);
  EXPECT_EQ(::inet_pton(family, told.own, socket.id.idiag_src), 1);
  EXPECT_EQ(::inet_pton(family, told.far, socket.id.idiag_dst), 1);
  return message(SOCK_DIAG_BY_FAMILY, socket, told.sequence);
}

std::string refusal(int error, std::uint32_t sequence = kSequence) {
  return message(NLMSG_ERROR, nlmsgerr{.error = -error, .msg = {}}, sequence);
}

const Owner kGone = std::unexpected(NoOwner::gone);
const Owner kUntold = std::unexpected(NoOwner::untold);

TEST(DiagRequest, NamesBothEndsAsTheFamilyWritesThem) {
  const std::string four = diag_request(ends4(), kSequence), six = diag_request(ends6(), kSequence);
  inet_diag_req_v2 question{};
  ASSERT_EQ(four.size(), sizeof(nlmsghdr) + sizeof question);
  std::memcpy(&question, four.data() + sizeof(nlmsghdr), sizeof question);
  EXPECT_EQ(question.sdiag_family, AF_INET);
  EXPECT_EQ(question.sdiag_protocol, IPPROTO_TCP);
  EXPECT_EQ(ntohs(question.id.idiag_sport), kClientPort);
  EXPECT_EQ(ntohs(question.id.idiag_dport), kServerPort);
  EXPECT_EQ(question.id.idiag_src[0], htonl(INADDR_LOOPBACK));
  EXPECT_EQ(question.id.idiag_src[1], 0U);
  EXPECT_EQ(question.id.idiag_cookie[0], static_cast<std::uint32_t>(INET_DIAG_NOCOOKIE));
  std::memcpy(&question, six.data() + sizeof(nlmsghdr), sizeof question);
  EXPECT_EQ(question.sdiag_family, AF_INET6);
  EXPECT_EQ(question.id.idiag_dst[3], htonl(1));
}

TEST(OwnerInAnswer, IsTheUserOfTheSocketWithTheseEnds) {
  EXPECT_EQ(owner_in_answer(answer({}), ends4(), kSequence), Owner(1000));
  EXPECT_EQ(owner_in_answer(answer({.owner = 0}), ends4(), kSequence), Owner(0));
  EXPECT_EQ(owner_in_answer(answer({.family = AF_INET6, .own = "::1", .far = "::1"}), ends6(), kSequence),
            Owner(1000));
  // A client that came to 127.0.0.1 by a socket for IPv6.
  EXPECT_EQ(
      owner_in_answer(answer({.family = AF_INET6, .own = "::ffff:127.0.0.1", .far = "::ffff:127.0.0.1"}),
                      ends4(), kSequence),
      Owner(1000));
  // It has said all it has to say, and waits for the answer.
  EXPECT_EQ(owner_in_answer(answer({.state = TCP_FIN_WAIT2}), ends4(), kSequence), Owner(1000));
}

TEST(OwnerInAnswer, IsNobodyForWhatIsNotThatConnection) {
  for (const Told& other : {Told{.own = "127.0.0.2"}, Told{.far = "127.0.0.2"}, Told{.own_port = 1},
                            Told{.far_port = 1}, Told{.family = AF_INET6, .own = "::1", .far = "::1"},
                            // One that listens where the client was.
                            Told{.far = "0.0.0.0", .far_port = 0, .state = TCP_LISTEN}})
    EXPECT_EQ(owner_in_answer(answer(other), ends4(), kSequence), kGone);
}

TEST(OwnerInAnswer, TrustsNoOwnerOfASocketThatNobodyHasOpen) {
  // Of these the kernel shows root, whoever made them.
  EXPECT_EQ(owner_in_answer(answer({.state = TCP_TIME_WAIT, .owner = 0, .inode = 0}), ends4(), kSequence),
            kGone);
  EXPECT_EQ(owner_in_answer(answer({.state = TCP_FIN_WAIT1, .owner = 0, .inode = 0}), ends4(), kSequence),
            kGone);
  for (const unsigned state : {0U, unsigned{TCP_SYN_SENT}, unsigned{TCP_SYN_RECV}, unsigned{TCP_TIME_WAIT},
                               unsigned{TCP_CLOSE}, unsigned{TCP_LISTEN}, 12U, 255U})
    EXPECT_EQ(owner_in_answer(answer({.state = state}), ends4(), kSequence), kGone) << state;
}

TEST(OwnerInAnswer, KnowsASocketThatListens) {
  const SocketEnds listener{ip4("127.0.0.1", kServerPort), {}};
  const Told told{.far = "0.0.0.0", .own_port = kServerPort, .far_port = 0, .state = TCP_LISTEN};
  EXPECT_EQ(owner_in_answer(answer(told), listener, kSequence), Owner(1000));
  EXPECT_EQ(owner_in_answer(answer({.own_port = kServerPort}), listener, kSequence), kGone);
}

TEST(OwnerInAnswer, TellsNoSuchSocketFromNoAnswer) {
  EXPECT_EQ(owner_in_answer(refusal(ENOENT), ends4(), kSequence), kGone);
  EXPECT_EQ(owner_in_answer(refusal(EPERM), ends4(), kSequence), kUntold);
  EXPECT_EQ(owner_in_answer(refusal(0), ends4(), kSequence), kUntold);
  EXPECT_EQ(owner_in_answer("", ends4(), kSequence), kUntold);
}

TEST(OwnerInAnswer, PassesOverAnswersToEarlierQuestions) {
  const std::string old = answer({.owner = 0, .sequence = kSequence - 1});
  EXPECT_EQ(owner_in_answer(old, ends4(), kSequence), kUntold);
  EXPECT_EQ(owner_in_answer(old + answer({}), ends4(), kSequence), Owner(1000));
  EXPECT_EQ(owner_in_answer(refusal(ENOENT, 0) + old + answer({}), ends4(), kSequence), Owner(1000));
}

TEST(OwnerInAnswer, SurvivesMessagesThatAreCutOrLie) {
  const std::string whole = answer({.owner = 0});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(owner_in_answer(std::string_view(whole).substr(0, size), ends4(), kSequence), kUntold) << size;
  for (const std::uint32_t length : {0U, 1U, 15U, 16U, 17U, 87U, 89U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    std::string lies = whole;
    std::memcpy(lies.data(), &length, sizeof length);
    EXPECT_EQ(owner_in_answer(lies, ends4(), kSequence), kUntold) << length;
  }
  std::string endless;  // headers alone, of other questions
  for (int i = 0; i < 1000; ++i) {
    nlmsghdr header{
        .nlmsg_len = sizeof(nlmsghdr), .nlmsg_type = 0, .nlmsg_flags = 0, .nlmsg_seq = 0, .nlmsg_pid = 0};
    endless.append(reinterpret_cast<const char*>(&header), sizeof header);
  }
  EXPECT_EQ(owner_in_answer(endless, ends4(), kSequence), kUntold);
  std::string strange = whole;
  strange[sizeof(nlmsghdr)] = 99;  // a family that is none
  EXPECT_EQ(owner_in_answer(strange, ends4(), kSequence), kUntold);
  EXPECT_EQ(owner_in_answer(message(NLMSG_DONE, inet_diag_msg{}, kSequence), ends4(), kSequence), kUntold);
}

// As of a machine whose least significant byte comes first, which is where the tests run.
constexpr std::string_view kHeading =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
constexpr std::string_view kListens =
    "   0: 0100007F:1388 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 44 1 0 100 "
    "0\n";
constexpr std::string_view kClient =
    "   1: 0100007F:A994 0100007F:1388 01 00000000:00000000 00:00000000 00000000  1000        0 45 1 0 20 "
    "4\n";
constexpr std::string_view kWaits =
    "   2: 0100007F:A994 0100007F:1388 06 00000000:00000000 03:00000CA5 00000000     0        0 0 3 0\n";
constexpr std::string_view kMappedClient =
    "   0: 0000000000000000FFFF00000100007F:A994 0000000000000000FFFF00000100007F:1388 01 00000000:00000000 "
    "00:00000000 00000000  1001        0 46 1 0 20 4 0 10 -1\n";
constexpr std::string_view kClient6 =
    "   1: 00000000000000000000000001000000:A994 00000000000000000000000001000000:1388 01 00000000:00000000 "
    "00:00000000 00000000  1002        0 47 1 0 20 4 0 10 -1\n";

std::string table(std::initializer_list<std::string_view> lines) {
  std::string text(kHeading);
  for (const std::string_view line : lines) text += line;
  return text;
}

TEST(OwnerInTable, IsTheUserInTheLineWithTheseEnds) {
  EXPECT_EQ(owner_in_table(table({kListens, kClient}), ends4()), Owner(1000));
  EXPECT_EQ(owner_in_table(table({kListens, kMappedClient}), ends4()), Owner(1001));
  EXPECT_EQ(owner_in_table(table({kListens, kMappedClient, kClient6}), ends6()), Owner(1002));
  EXPECT_EQ(owner_in_table(table({kWaits, kClient}), ends4()), Owner(1000));
  EXPECT_EQ(owner_in_table(table({kClient, kListens}), {ip4("127.0.0.1", kServerPort), {}}), Owner(1000));
}

TEST(OwnerInTable, IsNobodyWhereNoProcessHasIt) {
  EXPECT_EQ(owner_in_table(table({kListens}), ends4()), kGone);
  EXPECT_EQ(owner_in_table(table({kListens, kWaits}), ends4()), kGone);
  EXPECT_EQ(owner_in_table(table({kClient}), ends6()), kGone);
  EXPECT_EQ(owner_in_table("", ends4()), kUntold);
}

TEST(OwnerInTable, SurvivesTextThatIsCutOrNonsense) {
  // Up to the end of the inode nothing may be taken for the user; the last digit may be missing unseen.
  const std::size_t inode = kClient.find(" 45 ");
  for (std::size_t size = 0; size <= inode + 1; ++size)
    EXPECT_FALSE(owner_in_table(kClient.substr(0, size), ends4())) << size;
  for (const std::string_view text :
       {"\n\n\n", "nonsense", "1: : : 01 0 0 0 0 0 1", "1: 0100007F: 0100007F: 01",
        "1: 0100007G:A994 0100007F:1388 01 a b c 0 0 45", "1: 0100007F:A994 0100007F:1388 zz a b c 0 0 45",
        "1: 0100007F:A994 0100007F:1388 01 a b c -1 0 45", "1: 0100007F:A994 0100007F:1388 01 a b c 0 0 x",
        "1: 0100007F:A994 0100007F:1388 01 a b c 99999999999 0 45", "1: 0100007F:1A994 0100007F:1388 01",
        "1: 100007F:A994 0100007F:1388 01 a b c 0 0 45"})
    EXPECT_FALSE(owner_in_table(text, ends4())) << text;
}

}  // namespace
}  // namespace plimsoll::serve
