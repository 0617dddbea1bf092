// Any bytes, taken for what a browser sends: a cookie, a login, a body that asks for something to be
// computed, the name of one of the page's files. What becomes a command line has no word that could be
// another option, and no path.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "serve/dashboard/bundle.hpp"
#include "serve/dashboard/orders.hpp"
#include "serve/http/gate.hpp"

namespace {

using namespace plimsoll;
using namespace plimsoll::serve;

void must(bool holds) {
  if (!holds) std::abort();
}

void look_at(const Result<dashboard::Order>& order) {
  if (!order) return;
  must(!order->words.empty());
  for (std::size_t i = 0; i < order->words.size(); ++i) {
    const std::string& word = order->words[i];
    must(!word.empty() && word.find('\0') == word.npos && word.find('\n') == word.npos);
    must(!word.starts_with("--html") && !word.starts_with("--output") && !word.starts_with("--store"));
    const bool is_rate = word.ends_with("/h");  // --max-price=1.5/h
    must(is_rate || word.find('/') == word.npos);
    // Behind the command come options of the page's own and one name.
    must(i < 2 || word.starts_with("--") || order->words.front() == "cancel");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);  // NOLINT
  static dashboard::UploadedModels models;
  for (const char* what : {"beside", "matrix", "plan"}) look_at(dashboard::share_order(what, text, models));
  for (const char* what : {"inspect", "weigh", "estimate", "timeline", "choose"})
    look_at(dashboard::network_order(what, text, models));
  look_at(dashboard::queue_order("cancel", text));
  look_at(dashboard::submission(text));

  static const dashboard::Bundle bundle;
  if (const Response file = bundle.answer(text, {}); file.status == 200) must(dashboard::is_page_file(text));

  static Gate gate({.token = "a-token-of-the-fuzzer", .open_paths = {"/health"}, .open_posts = {"/login"}});
  Request head{.method = "POST",
               .path = "/runs",
               .headers = {{"cookie", text}, {"x-plimsoll-csrf", text}},
               .host = text};
  must(gate.refuse(head).has_value());
  head.headers = {{"authorization", text}};
  const bool is_basic =
      text.size() > 5 && (text[0] == 'B' || text[0] == 'b') && (text[1] == 'a' || text[1] == 'A');
  must(is_basic || text.find("a-token-of-the-fuzzer") != text.npos || gate.refuse(head).has_value());
  must(!gate.enter(text, head) || text == "a-token-of-the-fuzzer");
  return 0;
}
