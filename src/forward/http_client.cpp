#include "forward/http_client.hpp"

#include <cstdlib>
#include <utility>

#include "base/printable.hpp"
#include "forward/curl.hpp"

namespace plimsoll::forward {
namespace {

constexpr std::size_t kLongestMessage = 200;

/// What a call brings, while it comes.
struct Receiving {
  std::string body = {};
  std::size_t most = 0;
  bool too_long = false;
};

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as libcurl calls it
std::size_t take_bytes(char* bytes, std::size_t size, std::size_t count, void* to) {
  auto& receiving = *static_cast<Receiving*>(to);
  const std::size_t length = size * count;
  if (receiving.body.size() + length > receiving.most) {
    receiving.too_long = true;
    return 0;
  }
  receiving.body.append(bytes, length);
  return length;
}

int look_whether_to_end(void* give_up, curl_off_t /*to_come*/, curl_off_t /*came*/, curl_off_t /*to_go*/,
                        curl_off_t /*went*/) {
  return (*static_cast<const std::function<bool()>*>(give_up))() ? 1 : 0;
}

bool is_about_certificates(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
}

/// What may pass, but for what the person must settle.
Error error_of(CURLcode code, const Curl& curl, const std::string& shown) {
  Error out{
      .message = fmt::format("cannot be reached: {}", printable(curl.error_text(code), kLongestMessage)),
      .where = shown,
      .kind = Error::Kind::unavailable};
  if (code == CURLE_ABORTED_BY_CALLBACK) out.message = "it has not answered yet";
  if (is_about_certificates(code)) {
    out.hint = "MLFLOW_TRACKING_SERVER_CERT_PATH names a file of certificates that are to be trusted.";
    out.kind = Error::Kind::bad_input;
  } else if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
    out.kind = Error::Kind::bad_input;
  }
  return out;
}

}  // namespace

struct HttpClient::State {
  State(const Curl& library, ServerAddress to, std::function<bool()> end, HttpLimits bounds)
      : curl(library), address(std::move(to)), give_up(std::move(end)), limits(bounds) {}
  ~State() {
    if (headers != nullptr) curl.free_list(headers);
    if (handle != nullptr) curl.cleanup(handle);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // A variadic function takes what it is given: each kind of value by a function of its own.
  void set_number(CURLoption option, long value) const { curl.set(handle, option, value); }
  void set_text(CURLoption option, const char* value) const { curl.set(handle, option, value); }
  void set_pointer(CURLoption option, void* value) const { curl.set(handle, option, value); }

  void add_header(const std::string& line) {
    if (curl_slist* longer = curl.append(headers, line.c_str())) headers = longer;
  }
  void prepare();

  const Curl& curl;
  ServerAddress address;
  std::function<bool()> give_up;
  HttpLimits limits;
  CURL* handle = nullptr;
  curl_slist* headers = nullptr;
};

/// What is the same for every call.
void HttpClient::State::prepare() {
  set_number(CURLOPT_NOSIGNAL, 1);  // signals are for who watches the commands
  set_text(CURLOPT_PROTOCOLS_STR, "http,https");
  set_number(CURLOPT_FOLLOWLOCATION, 0);
  set_number(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect.count()));
  set_number(CURLOPT_TIMEOUT_MS, static_cast<long>(limits.total.count()));
#if LIBCURL_VERSION_NUM >= 0x075700
  set_number(CURLOPT_QUICK_EXIT, 1);  // does not wait for a name that is still looked up
#endif
  curl.set(handle, CURLOPT_WRITEFUNCTION, &take_bytes);
  if (give_up) {
    set_number(CURLOPT_NOPROGRESS, 0);
    curl.set(handle, CURLOPT_XFERINFOFUNCTION, &look_whether_to_end);
    set_pointer(CURLOPT_XFERINFODATA, &give_up);
  }
  if (const char* certificates = std::getenv("MLFLOW_TRACKING_SERVER_CERT_PATH");
      certificates != nullptr && *certificates != '\0')
    set_text(CURLOPT_CAINFO, certificates);
  add_header("Content-Type: application/json");
  add_header("User-Agent: plimsoll");
  add_header("Expect:");  // a large body goes at once, without asking first
  const Credentials& who = address.credentials;
  if (!who.user.empty()) {
    set_number(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set_text(CURLOPT_USERNAME, who.user.c_str());
    set_text(CURLOPT_PASSWORD, who.password.c_str());
  } else if (!who.token.empty()) {
    add_header("Authorization: Bearer " + who.token);
  }
  set_pointer(CURLOPT_HTTPHEADER, headers);
}

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::open(ServerAddress address, std::function<bool()> give_up, HttpLimits limits) {
  const Result<const Curl*> library = curl();
  if (!library) return std::unexpected(library.error());
  auto state = std::make_unique<State>(**library, std::move(address), std::move(give_up), limits);
  state->handle = (*library)->init();
  if (state->handle == nullptr)
    return std::unexpected(Error{"no connection can be made ready", {}, {}, Error::Kind::machine_lacks});
  state->prepare();
  return HttpClient(std::move(state));
}

Result<Answer> HttpClient::exchange(const Request& request) {
  State& state = *state_;
  const std::string url = state.address.url + request.path;
  Receiving receiving{.most = state.limits.answer};
  state.set_text(CURLOPT_URL, url.c_str());
  state.set_pointer(CURLOPT_WRITEDATA, &receiving);
  if (request.body.empty()) {
    state.set_number(CURLOPT_HTTPGET, 1);
  } else {
    state.set_number(CURLOPT_POST, 1);
    state.set_text(CURLOPT_POSTFIELDS, request.body.data());
    state.set_number(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
  }
  const CURLcode code = state.curl.perform(state.handle);
  if (code == CURLE_OK) {
    Answer answer{.body = std::move(receiving.body)};
    state.curl.information(state.handle, CURLINFO_RESPONSE_CODE, &answer.status);
    return answer;
  }
  if (receiving.too_long)
    return std::unexpected(Error{"its answer is too long to be MLflow's", state.address.shown});
  return std::unexpected(error_of(code, state.curl, state.address.shown));
}

}  // namespace plimsoll::forward
