#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "forward/model_sender.hpp"
#include "forward/remote_registry.hpp"
#include "store/store.hpp"

namespace plimsoll::forward {

/// On the server's registered model, and on its versions: which one it is here.
inline constexpr const char* kLocalRegisteredTag = "plimsoll.registered";
inline constexpr const char* kLocalVersionTag = "plimsoll.version";

struct SentRegistered {
  std::string model = {};
  std::size_t sent = 0, present = 0;  ///< versions
  /// The server has another model of this name, which was left as it is.
  bool different = false;
};

/// The runs that a registered model's versions, or the logged models that they are made of, belong to and
/// that are in the store: they go first.
[[nodiscard]] Result<std::vector<std::string>> runs_of(store::Store& store, const std::string& model);

/// Brings registered models to a server with their versions, in the same numbers, when the runs that they
/// name were sent: descriptions, tags, aliases, stages. A number that is free here is taken there by a
/// version that is removed again. What is there already is brought up to date.
class RegistrySender {
 public:
  RegistrySender(store::Store& store, MlflowRemote& remote, std::string url, ModelSender& models,
                 std::vector<LeftOut>& left_out)
      : store_(&store),
        remote_(&remote),
        url_(std::move(url)),
        registry_(remote.server()),
        models_(&models),
        left_out_(&left_out) {}

  /// `report` is told how many of how many versions are there; may be empty.
  [[nodiscard]] Result<SentRegistered> send(const std::string& name,
                                            const std::function<void(std::size_t, std::size_t)>& report = {});

 private:
  /// Where a version's files are there, and what it is linked to.
  struct Origin {
    std::string source, run, logged_model;
  };
  Result<bool> settle(const store::RegisteredModel& model);
  Result<std::optional<Origin>> origin_of(const store::ModelVersion& version);
  Result<std::optional<Origin>> origin_in_run(const std::string& run, const std::string& rest);
  Result<std::optional<Origin>> origin_in_model(const std::string& model, const std::string& rest);
  Result<bool> make(const store::ModelVersion& version, const std::set<std::int64_t>& here);
  Status update(const store::ModelVersion& version, const RemoteVersion& there);
  Status leave_out(const Status& done, const std::string& what);

  store::Store* store_;
  MlflowRemote* remote_;
  std::string url_;
  RemoteRegistry registry_;
  ModelSender* models_;
  std::vector<LeftOut>* left_out_;
};

}  // namespace plimsoll::forward
