#include "store/registry_rows.hpp"

#include <utility>

namespace plimsoll::store {
namespace {

template <class T>
Result<T> only(Result<std::vector<T>> loaded) {
  if (!loaded) return std::unexpected(std::move(loaded).error());
  if (loaded->empty()) return fail("what was just read is gone");
  return std::move(loaded->front());
}

class SqlRegistry final : public Registry {
 public:
  explicit SqlRegistry(Transactions transactions) : transactions_(transactions) {}

  Result<RegisteredModel> create(const NewRegisteredModel& model) override {
    return transactions_.write_for<RegisteredModel>([&](Database& database) -> Result<RegisteredModel> {
      const Result<std::int64_t> number = insert_registered(database, model);
      if (!number) return std::unexpected(number.error());
      return only(load_registered(database, {*number}));
    });
  }

  Result<RegisteredModel> model(std::string_view name) override {
    return transactions_.read<RegisteredModel>([&](Database& database) -> Result<RegisteredModel> {
      const Result<std::int64_t> number = registered_number(database, name);
      if (!number) return std::unexpected(number.error());
      return only(load_registered(database, {*number}));
    });
  }

  Result<RegisteredModel> change(std::string_view name, const RegisteredModelChange& change) override {
    return transactions_.write_for<RegisteredModel>([&](Database& database) -> Result<RegisteredModel> {
      const Result<std::int64_t> number = locked_registered(database, name);
      if (!number) return std::unexpected(number.error());
      PLIMSOLL_TRY(update_registered(database, *number, change));
      return only(load_registered(database, {*number}));
    });
  }

  Status remove(std::string_view name) override {
    return transactions_.write([&](Database& database) { return remove_registered(database, name); });
  }

  Result<std::vector<RegisteredModel>> search(const RegistrySearch& search) override {
    return transactions_.read<std::vector<RegisteredModel>>(
        [&](Database& database) { return find_registered(database, search); });
  }

  Result<ModelVersion> create_version(const NewModelVersion& version) override {
    return transactions_.write_for<ModelVersion>([&](Database& database) -> Result<ModelVersion> {
      const Result<std::int64_t> number = insert_version(database, version);
      if (!number) return std::unexpected(number.error());
      return only(load_versions(database, {*number}));
    });
  }

  Result<ModelVersion> version(std::string_view model, std::int64_t version) override {
    return transactions_.read<ModelVersion>([&](Database& database) -> Result<ModelVersion> {
      const Result<std::int64_t> number = version_number(database, model, version);
      if (!number) return std::unexpected(number.error());
      return only(load_versions(database, {*number}));
    });
  }

  Result<ModelVersion> change_version(std::string_view model, std::int64_t version,
                                      const ModelVersionChange& change) override {
    return transactions_.write_for<ModelVersion>([&](Database& database) -> Result<ModelVersion> {
      // The model's row first: who archives the others of a stage must not meet one that comes into it.
      const Result<std::int64_t> owner = locked_registered(database, model);
      if (!owner && owner.error().kind != Error::Kind::not_found) return std::unexpected(owner.error());
      const Result<std::int64_t> number = version_number(database, model, version);
      if (!number) return std::unexpected(number.error());
      PLIMSOLL_TRY(update_version(database, *number, change));
      return only(load_versions(database, {*number}));
    });
  }

  Status remove_version(std::string_view model, std::int64_t version) override {
    return transactions_.write(
        [&](Database& database) { return store::remove_version(database, model, version); });
  }

  Result<std::vector<ModelVersion>> search_versions(const RegistrySearch& search) override {
    return transactions_.read<std::vector<ModelVersion>>(
        [&](Database& database) { return find_versions(database, search); });
  }

 private:
  Transactions transactions_;
};

}  // namespace

std::unique_ptr<Registry> make_registry(Transactions transactions) {
  return std::make_unique<SqlRegistry>(transactions);
}

}  // namespace plimsoll::store
