#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "serve/dashboard/bundle.hpp"
#include "serve/dashboard/commands.hpp"
#include "serve/dashboard/uploaded_models.hpp"
#include "serve/http/gate.hpp"
#include "serve/http/server.hpp"
#include "serve/mlflow/api.hpp"

namespace plimsoll::serve::dashboard {

struct DashboardOptions {
  std::optional<std::filesystem::path> web = {};  ///< the page's files, in place of those compiled in
  CommandsOptions commands = {};
  /// What the machines do at this moment, as JSON; absent: nobody knows.
  std::function<Result<std::string>()> now = {};
  /// Why commands are neither started nor stopped from the page; empty: they are, as the server's user.
  std::string no_commands = {};
  /// Why the queue takes nothing at this moment; empty: it does.
  std::function<std::string()> no_queue = {};
  std::string version = {}, user = {};
};

/// All that a browser asks beside MLflow's calls (docs/dashboard_api.md).
class Dashboard {
 public:
  struct Endpoint {
    std::string method, pattern;
    std::function<void(mlflow::Call, Answer)> handle;
    std::uint64_t most_body_bytes = std::uint64_t{64} << 10;
    bool takes_file = false;  ///< the body goes to a file of body_place()
  };
  /// `api` and `gate` outlive it.
  Dashboard(DashboardOptions options, mlflow::Api& api, Gate& gate);

  [[nodiscard]] std::vector<Endpoint> endpoints();
  /// Where a model that is being dropped goes.
  [[nodiscard]] Result<std::filesystem::path> body_place() { return models_.fresh_place(); }

 private:
  void add_pages(std::vector<Endpoint>& out);
  void add_sessions(std::vector<Endpoint>& out);
  void add_runs(std::vector<Endpoint>& out);
  void add_computed(std::vector<Endpoint>& out);
  void add_queue(std::vector<Endpoint>& out);

  [[nodiscard]] Response session(const Visitor* who) const;
  [[nodiscard]] Response log_in(const Request& request);
  [[nodiscard]] Response log_out(const Request& request);
  [[nodiscard]] Response take_model(Request& request);
  [[nodiscard]] std::string why_no_queue() const;
  void carry_out(const Request& request, Result<Order> order, Answer answer);

  DashboardOptions options_;
  mlflow::Api& api_;
  Gate& gate_;
  Bundle bundle_;
  UploadedModels models_;
  Commands commands_;  // last: what it runs uses what stands above
};

/// What anybody may read, and where anybody may post, before a login.
[[nodiscard]] std::vector<std::string> open_paths();
[[nodiscard]] std::vector<std::string> open_posts();
/// Whether a request by POST changes nothing: searches, and what is computed.
[[nodiscard]] bool only_reads(std::string_view path);

}  // namespace plimsoll::serve::dashboard
