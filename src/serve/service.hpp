#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "serve/dashboard/dashboard.hpp"
#include "serve/http/server.hpp"
#include "store/store.hpp"

namespace plimsoll::serve {

struct ServiceOptions {
  Options http = {};
  std::string store = {};  ///< as store::open takes it
  store::OpenOptions open = {};
  std::string version = {};                 ///< that /version answers
  std::filesystem::path mlflow_pages = {};  ///< as mlflow::Pages takes it; empty: none are served
  /// May be brought in place of `http.token`, and lets its bringer read alone.
  std::optional<std::string> read_token = {};
  dashboard::DashboardOptions dashboard = {};
};

/// `plimsoll serve`: MLflow's API, the artifact proxy, /health, /version, /metrics and the feed of events,
/// over one store; and in the background what keeps the store in order.
class Service {
 public:
  /// Serves when it returns.
  [[nodiscard]] static Result<std::unique_ptr<Service>> start(ServiceOptions options);
  ~Service();  ///< stop(0 s)
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  [[nodiscard]] const std::string& url() const;
  [[nodiscard]] std::string store_location() const;
  /// Requests under way are answered, and what waits for the disk is brought in.
  void stop(std::chrono::milliseconds patience);

 private:
  class State;
  explicit Service(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::serve
