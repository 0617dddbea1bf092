#include "store/claim_rows.hpp"

#include <algorithm>
#include <utility>

#include "base/printable.hpp"
#include "store/texts.hpp"

namespace plimsoll::store {
namespace {

/// A claim as the table has it, with how long it was last taken for.
struct ClaimRow {
  Claim claim;
  Time lease = 0;
};

Status check_claim_name(std::string_view name) {
  PLIMSOLL_TRY(check_name("claim", name));
  if (std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7F'; })) return {};
  return fail("{} is no name of a claim: printable characters of ASCII without blanks", quote(name));
}

Result<Time> microseconds_of(std::chrono::milliseconds lease) {
  if (lease < std::chrono::milliseconds(1) || lease > kLongestLease)
    return fail("a claim is held for 1 ms to 30 days, not for {} ms", lease.count());
  return std::chrono::microseconds(lease).count();
}

ClaimRow row_of(const Query& row, std::string name) {
  return {{.name = std::move(name),
           .holder = row.text(0),
           .until = row.integer(1),
           .term = row.integer(3),
           .note = row.text(4)},
          row.integer(2)};
}

/// No claim can last longer than it was taken for: where it would, the clock was set back since. Then it
/// lasts so long from now on, which is no shorter than its holder counts on. Returns whether it was so.
bool judge(ClaimRow& row, Time now) {
  const bool set_back = row.claim.until - now > row.lease;
  if (set_back) row.claim.until = now + row.lease;
  row.claim.expired = row.claim.until <= now;
  return set_back;
}

/// Locks the row, which it makes where there is none.
Result<ClaimRow> locked_claim(Database& database, const std::string& name) {
  PLIMSOLL_TRY(database
                   .query("INSERT INTO claim(name, holder, until, lease, term, note) "
                          "VALUES (?, '', 0, 0, 0, '') ON CONFLICT DO NOTHING")
                   .bind(name)
                   .run());
  Query query =
      database.query("SELECT holder, until, lease, term, note FROM claim WHERE name = ? FOR UPDATE");
  PLIMSOLL_TRY(query.bind(name).row());
  return row_of(query, name);
}

/// Written only over the term that was read. The lock holds others off anyway; a store whose locks do not
/// (a file on a broken network file system) still has no two holders of one term.
Status save_claim(Database& database, const ClaimRow& row, std::int64_t term_before) {
  Query query = database.query(
      "UPDATE claim SET holder = ?, until = ?, lease = ?, term = ?, note = ? WHERE name = ? AND term = ? "
      "RETURNING term");
  const Result<bool> saved = query.bind(row.claim.holder)
                                 .bind(row.claim.until)
                                 .bind(row.lease)
                                 .bind(row.claim.term)
                                 .bind(row.claim.note)
                                 .bind(row.claim.name)
                                 .bind(term_before)
                                 .next();
  if (!saved) return std::unexpected(saved.error());
  if (*saved) return {};
  return std::unexpected(Error{"another writer was in the way", database.name(),
                               "Try again; what is in the store is safe.", Error::Kind::unavailable});
}

/// The holder has it from now on.
Result<ClaimAnswer> hold(Database& database, ClaimRow row, const ClaimWish& wish, Time lease, Time now) {
  const std::int64_t before = row.claim.term;
  if (row.claim.holder != wish.holder) ++row.claim.term;
  row.claim.holder = wish.holder;
  row.claim.until = now + lease;
  row.claim.note = wish.note;
  row.claim.expired = false;
  row.lease = lease;
  PLIMSOLL_TRY(save_claim(database, row, before));
  return ClaimAnswer{true, std::move(row.claim)};
}

/// It stays another's.
Result<ClaimAnswer> leave(Database& database, ClaimRow row, bool set_back) {
  if (set_back) PLIMSOLL_TRY(save_claim(database, row, row.claim.term));
  return ClaimAnswer{false, std::move(row.claim)};
}

class SqlClaims final : public Claims {
 public:
  explicit SqlClaims(Transactions transactions) : transactions_(transactions) {}

  Result<ClaimAnswer> take(const ClaimWish& wish) override {
    return answer(wish, [&](const ClaimRow& row) {
      return row.claim.holder.empty() || row.claim.holder == wish.holder || row.claim.expired;
    });
  }

  Result<ClaimAnswer> renew(const Claim& held, std::chrono::milliseconds lease) override {
    const ClaimWish wish{held.name, held.holder, lease, held.note};
    return answer(wish, [&](const ClaimRow& row) {
      return row.claim.holder == held.holder && row.claim.term == held.term;
    });
  }

  Result<bool> release(const Claim& held) override {
    PLIMSOLL_TRY(check_claim_name(held.name));
    return transactions_.write_for<bool>([&](Database& database) -> Result<bool> {
      Result<ClaimRow> row = locked_claim(database, held.name);
      if (!row) return std::unexpected(std::move(row).error());
      if (row->claim.term != held.term) return false;
      // Free already: a release whose answer was lost comes again.
      if (row->claim.holder.empty()) return true;
      if (row->claim.holder != held.holder) return false;
      const ClaimRow free{{.name = held.name, .holder = {}, .term = held.term}};
      PLIMSOLL_TRY(save_claim(database, free, held.term));
      return true;
    });
  }

  Result<std::optional<Claim>> held(std::string_view name) override {
    PLIMSOLL_TRY(check_claim_name(name));
    // No name that goes on comes before one that goes on with the first printable character.
    const Result<std::vector<Claim>> found = select(name, std::string(name) + '!');
    if (!found) return std::unexpected(found.error());
    return found->empty() ? std::optional<Claim>() : std::optional(found->front());
  }

  Result<std::vector<Claim>> all_held(std::string_view prefix) override {
    if (prefix.empty()) return select("", "\x7F");
    PLIMSOLL_TRY(check_claim_name(prefix));
    std::string end(prefix);
    ++end.back();
    return select(prefix, end);
  }

 private:
  template <class May>
  Result<ClaimAnswer> answer(const ClaimWish& wish, const May& may) {
    PLIMSOLL_TRY(check_claim_name(wish.name));
    PLIMSOLL_TRY(check_name("holder", wish.holder));
    PLIMSOLL_TRY(check_value("claim", "note", wish.note));
    const Result<Time> lease = microseconds_of(wish.lease);
    if (!lease) return std::unexpected(lease.error());
    return transactions_.write_for<ClaimAnswer>([&](Database& database) -> Result<ClaimAnswer> {
      Result<ClaimRow> row = locked_claim(database, wish.name);
      if (!row) return std::unexpected(std::move(row).error());
      // Read with the row in hand: a time from before the wait for it would judge what has changed since.
      const Result<Time> now = database.clock();
      if (!now) return std::unexpected(now.error());
      const bool set_back = judge(*row, *now);
      if (may(*row)) return hold(database, std::move(*row), wish, *lease, *now);
      return leave(database, std::move(*row), set_back);
    });
  }

  /// Names from `first` on and before `end`: ASCII compares alike in every database.
  Result<std::vector<Claim>> select(std::string_view first, std::string_view end) {
    return transactions_.read<std::vector<Claim>>([&](Database& database) -> Result<std::vector<Claim>> {
      const Result<Time> now = database.clock();
      if (!now) return std::unexpected(now.error());
      std::vector<Claim> out;
      Query query = database.query(
          "SELECT holder, until, lease, term, note, name FROM claim "
          "WHERE name >= ? AND name < ? AND holder <> '' ORDER BY name");
      query.bind(first).bind(end);
      PLIMSOLL_TRY(for_each_row(query, [&](const Query& row) {
        ClaimRow found = row_of(row, row.text(5));
        judge(found, *now);
        out.push_back(std::move(found.claim));
      }));
      return out;
    });
  }

  Transactions transactions_;
};

}  // namespace

std::unique_ptr<Claims> make_claims(Transactions transactions) {
  return std::make_unique<SqlClaims>(transactions);
}

Result<bool> still_held(Database& database, const Claim& held) {
  PLIMSOLL_TRY(check_claim_name(held.name));
  Query query =
      database.query("SELECT holder, until, lease, term, note FROM claim WHERE name = ? FOR UPDATE");
  const Result<bool> found = query.bind(held.name).next();
  if (!found) return found;
  if (!*found) return false;
  ClaimRow row = row_of(query, held.name);
  // Read with the row in hand, as answer() does.
  const Result<Time> now = database.clock();
  if (!now) return std::unexpected(now.error());
  judge(row, *now);
  return !held.holder.empty() && row.claim.holder == held.holder && row.claim.term == held.term &&
         !row.claim.expired;
}

}  // namespace plimsoll::store
