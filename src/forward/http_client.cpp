#include "forward/http_client.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"
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

/// A file on its way, so many bytes of it as it had at the beginning.
struct Sending {
  FileDescriptor file = {};
  curl_off_t bytes = 0;
};

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as libcurl calls it
std::size_t give_bytes(char* to, std::size_t size, std::size_t count, void* from) {
  const ::ssize_t got = ::read(static_cast<const Sending*>(from)->file.get(), to, size * count);
  return got < 0 ? CURL_READFUNC_ABORT : static_cast<std::size_t>(got);
}

/// Where a connection that was kept open turns out to be gone, all goes again.
int begin_again(void* from, curl_off_t offset, int origin) {
  const ::off_t at = ::lseek(static_cast<const Sending*>(from)->file.get(), offset, origin);
  return at < 0 ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

Result<Sending> open_file(const std::filesystem::path& path) {
  Sending out{.file = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK))};
  struct ::stat status = {};
  if (!out.file || ::fstat(out.file.get(), &status) != 0)
    return std::unexpected(Error{fmt::format("it cannot be read: {}", std::generic_category().message(errno)),
                                 printable(path.string()),
                                 {},
                                 errno == ENOENT ? Error::Kind::not_found : Error::Kind::bad_input});
  if (!S_ISREG(status.st_mode)) return std::unexpected(Error{"it is no file", printable(path.string())});
  out.bytes = status.st_size;
  return out;
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
    for (curl_slist* each : {headers, file_headers})
      if (each != nullptr) curl.free_list(each);
    if (handle != nullptr) curl.cleanup(handle);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // A variadic function takes what it is given: each kind of value by a function of its own.
  void set_number(CURLoption option, long value) const { curl.set(handle, option, value); }
  void set_text(CURLoption option, const char* value) const { curl.set(handle, option, value); }
  void set_pointer(CURLoption option, void* value) const { curl.set(handle, option, value); }

  void add_header(curl_slist*& to, const std::string& line) const {
    if (curl_slist* longer = curl.append(to, line.c_str())) to = longer;
  }
  void prepare();
  void aim(const Request& request) const;
  void aim(const Request& request, Sending& file) const;

  const Curl& curl;
  ServerAddress address;
  std::function<bool()> give_up;
  HttpLimits limits;
  CURL* handle = nullptr;
  curl_slist *headers = nullptr, *file_headers = nullptr;
};

/// What is the same for every call.
void HttpClient::State::prepare() {
  set_number(CURLOPT_NOSIGNAL, 1);  // signals are for who watches the commands
  set_text(CURLOPT_PROTOCOLS_STR, "http,https");
  set_number(CURLOPT_FOLLOWLOCATION, 0);
  set_number(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect.count()));
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
  add_header(headers, "Content-Type: application/json");
  add_header(file_headers, "Content-Type: application/octet-stream");
  for (curl_slist** each : {&headers, &file_headers}) {
    add_header(*each, "User-Agent: plimsoll");
    add_header(*each, "Expect:");  // a large body goes at once, without asking first
  }
  const Credentials& who = address.credentials;
  if (!who.user.empty()) {
    set_number(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set_text(CURLOPT_USERNAME, who.user.c_str());
    set_text(CURLOPT_PASSWORD, who.password.c_str());
  } else if (!who.token.empty()) {
    for (curl_slist** each : {&headers, &file_headers})
      add_header(*each, "Authorization: Bearer " + who.token);
  }
  curl.set(handle, CURLOPT_READFUNCTION, &give_bytes);
  curl.set(handle, CURLOPT_SEEKFUNCTION, &begin_again);
}

void HttpClient::State::aim(const Request& request) const {
  set_number(CURLOPT_UPLOAD, 0);
  set_number(CURLOPT_TIMEOUT_MS, static_cast<long>(limits.total.count()));
  set_number(CURLOPT_LOW_SPEED_TIME, 0);
  set_pointer(CURLOPT_HTTPHEADER, headers);
  if (request.body.empty()) {
    set_number(CURLOPT_HTTPGET, 1);
  } else {
    set_number(CURLOPT_POST, 1);
    set_text(CURLOPT_POSTFIELDS, request.body.data());
    set_number(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
  }
  const std::string& method = request.method;
  const bool usual = method.empty() || method == (request.body.empty() ? "GET" : "POST");
  set_text(CURLOPT_CUSTOMREQUEST, usual ? nullptr : method.c_str());
}

/// However long the file takes; but something must go on.
void HttpClient::State::aim(const Request& request, Sending& file) const {
  set_number(CURLOPT_TIMEOUT_MS, 0);
  set_number(CURLOPT_LOW_SPEED_LIMIT, 1);
  set_number(CURLOPT_LOW_SPEED_TIME, static_cast<long>(limits.silence.count()));
  set_pointer(CURLOPT_HTTPHEADER, file_headers);
  set_number(CURLOPT_UPLOAD, 1);
  curl.set(handle, CURLOPT_INFILESIZE_LARGE, file.bytes);
  set_pointer(CURLOPT_READDATA, &file);
  set_pointer(CURLOPT_SEEKDATA, &file);
  set_text(CURLOPT_CUSTOMREQUEST, request.method.empty() ? nullptr : request.method.c_str());
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
  Sending sending;
  if (request.file.empty()) {
    state.aim(request);
  } else {
    Result<Sending> file = open_file(request.file);
    if (!file) return std::unexpected(std::move(file).error());
    sending = std::move(*file);
    state.aim(request, sending);
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
