#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "forward/http_client.hpp"

namespace plimsoll::forward {

using Json = nlohmann::json;

/// A server that speaks MLflow's REST API. Errors: unavailable where the same may succeed later (no answer,
/// 5xx, 429), others are for good: not_found and exists_already where MLflow says so.
class MlflowServer {
 public:
  /// `shown`: the server for people, in messages.
  MlflowServer(Exchange exchange, std::string shown)
      : exchange_(std::move(exchange)), shown_(std::move(shown)) {}

  /// What "runs/get?run_id=7" is answered. Without a body a GET, else what `method` says.
  [[nodiscard]] Result<Json> ask(const std::string& call, const std::string& body = {},
                                 const char* method = "POST");
  /// The same, where only matters that it was done.
  [[nodiscard]] Status tell(const std::string& call, const std::string& body, const char* method = "POST");
  /// What a path of the caller's is answered, whatever the status.
  [[nodiscard]] Result<Answer> exchange(const Request& request) { return exchange_(request); }
  /// What is wrong about an answer that is not 200.
  [[nodiscard]] Error error_of(const Answer& answer, std::string_view call) const;
  [[nodiscard]] Error not_mlflow() const;
  [[nodiscard]] const std::string& shown() const { return shown_; }

 private:
  Exchange exchange_;
  std::string shown_;
};

/// The path of a call.
[[nodiscard]] std::string path_of(std::string_view call);

// Answers are read as they come: what is not there, or is something else, is empty.
[[nodiscard]] std::string text_of(const Json& object, const char* name);
/// Protobuf writes 64-bit integers as numbers or as texts.
[[nodiscard]] std::int64_t integer_of(const Json& object, const char* name);
/// The part of an object, or an empty object.
[[nodiscard]] const Json& part_of(const Json& object, const char* name);
/// The list of this name, or an empty one.
[[nodiscard]] const Json& list_of(const Json& object, const char* name);
[[nodiscard]] std::map<std::string, std::string> pairs_of(const Json& list);
/// [{"key": …, "value": …}, …]
[[nodiscard]] std::string pairs_json(const std::map<std::string, std::string>& pairs);

}  // namespace plimsoll::forward
