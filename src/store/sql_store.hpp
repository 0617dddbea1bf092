#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "store/connections.hpp"
#include "store/store.hpp"

namespace plimsoll::store {

/// What a store needs of its database beside the tables.
struct SqlStoreParts {
  std::unique_ptr<Connections> writers;
  std::unique_ptr<Connections> readers;  ///< nothing: reading waits for its turn among the writers
  std::string location;                  ///< for people
  std::filesystem::path artifacts;       ///< the directory with one of each run
  /// Gives space of what was purged back to the system, as far as the database does not do so by itself.
  bool appends_at_once = false;  ///< one batch may be sent to the database as append_at_once() does
  std::function<Status(Database&)> give_space_back;
  /// What the database knows of its tables when it plans, brought up to date where they have grown.
  std::function<Status(Database&)> refresh_statistics;
};

[[nodiscard]] std::unique_ptr<Store> make_sql_store(SqlStoreParts parts);

}  // namespace plimsoll::store
