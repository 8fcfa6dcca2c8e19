// Clients that have most of their rows from a site of their own.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/core/random.h"
#include "polykern/data/split.h"
#include "polykern/data/split_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

TEST(Split, FitsTheAirExperimentExactly) {
  const auto stream =
      Deal(Numbered(30000, 4), {.split = Split::kSite, .clients = 240, .steps = 500});
  ExpectNoRowTwice(*stream);
  EXPECT_EQ(UsedRows(*stream).size(), 120000U);
  for (std::size_t client = 0; client < 240; ++client) {
    EXPECT_EQ(stream->SiteOf(client), client / 60);
    std::map<std::size_t, std::size_t> count;
    for (std::size_t step = 0; step < 500; ++step) {
      ++count[stream->data().site[stream->RowOf(step, client)]];
    }
    for (std::size_t site = 0; site < 4; ++site) {
      EXPECT_EQ(count[site], site == client / 60 ? 350U : 50U);
    }
  }
}

TEST(Split, GivesAClientNeighbouringRowsOfEachSite) {
  const auto stream = Deal(Numbered(3000, 4), {.split = Split::kSite, .clients = 24, .steps = 500});
  std::map<std::size_t, std::size_t> next;  // per site, where the next client's rows begin
  for (std::size_t client = 0; client < 24; ++client) {
    std::map<std::size_t, std::set<std::size_t>> rows;
    for (std::size_t step = 0; step < 500; ++step) {
      const std::size_t row = stream->RowOf(step, client);
      rows[stream->data().site[row]].insert(row);
    }
    for (const auto& [site, taken] : rows) {
      if (next.count(site) == 0) next[site] = *taken.begin();
      EXPECT_EQ(*taken.begin(), next[site]);
      EXPECT_EQ(*taken.rbegin() - *taken.begin() + 1, taken.size());
      next[site] = *taken.rbegin() + 1;
    }
  }
}

TEST(Split, ShufflesTheSitesWithinAClient) {
  const auto stream = Deal(Numbered(3000, 4), {.split = Split::kSite, .clients = 24, .steps = 500});
  std::size_t own = 0;
  for (std::size_t step = 0; step < 100; ++step) {
    own += stream->data().site[stream->RowOf(step, 0)] == 0 ? 1 : 0;
  }
  EXPECT_GT(own, 50U);
  EXPECT_LT(own, 90U);
}

TEST(Split, TakesWhatCannotBeDividedFromTheOwnSite) {
  const auto stream = Deal(Numbered(100, 3), {.split = Split::kSite, .clients = 3, .steps = 11});
  std::map<std::size_t, std::size_t> count;
  for (std::size_t step = 0; step < 11; ++step) {
    ++count[stream->data().site[stream->RowOf(step, 0)]];
  }
  EXPECT_EQ(count[0], 9U);  // 8 of 11, and the third of the other 3
  EXPECT_EQ(count[1], 1U);
  EXPECT_EQ(count[2], 1U);
}

TEST(Split, NamesTheSiteThatIsTooSmall) {
  EXPECT_EQ(Complaint(Numbered(29999, 4), {.split = Split::kSite, .clients = 240, .steps = 500}),
            "site \"s0\" of \"numbers\" has 29999 rows, but 240 clients x 500 steps need 30000 of "
            "it: at most steps=499 fits 240 clients, at most clients=239 fits 500 steps");
}

TEST(Split, OffersOnlyWhatReallyFits) {
  const auto data = Numbered(1000, 3);
  EXPECT_THAT(Complaint(data, {.split = Split::kSite, .clients = 7, .steps = 600}),
              HasSubstr("at most steps=370 fits 7 clients, at most clients=3 fits 600 steps"));
  ExpectNoRowTwice(*Deal(data, {.split = Split::kSite, .clients = 7, .steps = 370}));
  ExpectNoRowTwice(*Deal(data, {.split = Split::kSite, .clients = 3, .steps = 600}));
}

TEST(Split, ChoosesStepsThatFitEverySite) {
  const auto stream = Deal(Numbered(300, 4), {.split = Split::kSite, .clients = 8});
  ExpectNoRowTwice(*stream);
  EXPECT_EQ(stream->steps(), 150U);
}

TEST(Split, NeedsTwoSitesToSplitBySite) {
  EXPECT_THAT(Complaint(Numbered(100), {.split = Split::kSite}), HasSubstr("has a single site"));
  EXPECT_THAT(Complaint(Numbered(100, 2), {.split = Split::kSite, .major_share = 1.5}),
              HasSubstr("must be above 0 and at most 1"));
}

/// Slow and obvious: does every site have the rows that its clients and the others want of it?
bool FitsBySite(const Dataset& data, std::size_t clients, std::size_t steps, double share) {
  const std::size_t sites = data.site_names.size();
  const auto major = static_cast<std::size_t>(std::llround(static_cast<double>(steps) * share));
  std::vector<std::size_t> need(sites);
  for (std::size_t client = 0; client < clients; ++client) {
    const std::size_t own = client * sites / clients;
    std::size_t rest = steps;
    for (std::size_t site = 0; site < sites; ++site) {
      if (site == own) continue;
      need[site] += (steps - major) / (sites - 1);
      rest -= (steps - major) / (sites - 1);
    }
    need[own] += rest;
  }
  for (std::size_t site = 0; site < sites; ++site) {
    const auto have = static_cast<std::size_t>(std::ranges::count(data.site, site));
    if (need[site] > have) return false;
  }
  return true;
}

TEST(Split, BySiteFitsExactlyWhatASlowCountFits) {
  std::size_t fitting = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, Purpose::kTest);
    const std::size_t sites = 2 + random.Below(3);
    const auto data = Numbered(5 + random.Below(40), sites);
    for (std::uint32_t& site : data->site) {  // some sites larger than others
      site = static_cast<std::uint32_t>(std::min(random.Below(sites), random.Below(sites)));
    }
    const double share = std::array{0.3, 0.5, 0.7, 1.0}.at(random.Below(4));
    const std::size_t clients = 1 + random.Below(8);
    const std::size_t steps = 1 + random.Below(25);
    if (clients > data->rows() || steps > data->rows()) continue;
    const SplitOptions options = {.split = Split::kSite,
                                  .clients = clients,
                                  .steps = steps,
                                  .major_share = share,
                                  .seed = seed};
    SCOPED_TRACE(seed);
    if (!FitsBySite(*data, clients, steps, share)) {
      EXPECT_THAT(Complaint(data, options), HasSubstr(" rows, but "));
      continue;
    }
    ++fitting;
    const auto stream = Deal(data, options);
    ExpectNoRowTwice(*stream);
    EXPECT_EQ(UsedRows(*stream).size(), clients * steps);
    for (std::size_t client = 0; client < clients; ++client) {
      EXPECT_EQ(stream->SiteOf(client), client * sites / clients);
    }
  }
  EXPECT_GT(fitting, 60U);
  EXPECT_LT(fitting, 180U);
}

TEST(Split, LeavesNoRoomForOneMoreWhereItChooses) {
  for (const std::size_t rows : {17U, 40U, 101U}) {
    for (const std::size_t clients : {1U, 3U, 8U, 16U}) {
      const auto by_site = Numbered(rows, 3);
      const auto chosen = Deal(by_site, {.split = Split::kSite, .clients = clients});
      EXPECT_TRUE(FitsBySite(*by_site, clients, chosen->steps(), 0.7));
      for (std::size_t more = chosen->steps() + 1; more <= 3 * rows / clients; ++more) {
        EXPECT_FALSE(FitsBySite(*by_site, clients, more, 0.7)) << rows << " " << clients;
      }
      const auto at_random = Deal(Numbered(rows), {.clients = clients});
      EXPECT_LE(at_random->steps() * clients, rows);
      EXPECT_GT((at_random->steps() + 1) * clients, rows);
    }
  }
}

TEST(Split, GivesAClientRowsOfItsOwnSiteAloneWithAShareOfOne) {
  const auto stream =
      Deal(Numbered(30, 3), {.split = Split::kSite, .clients = 3, .steps = 30, .major_share = 1});
  for (std::size_t step = 0; step < 30; ++step) {
    for (std::size_t client = 0; client < 3; ++client) {
      EXPECT_EQ(stream->data().site[stream->RowOf(step, client)], client);
    }
  }
}

TEST(Split, SaysThatNothingWouldFit) {
  const auto data = Numbered(40, 2);
  data->site.assign(80, 0);  // the second site has no row at all
  EXPECT_EQ(Complaint(data, {.split = Split::kSite, .clients = 2, .steps = 5, .major_share = 1}),
            "site \"s1\" of \"numbers\" has 0 rows, but 2 clients x 5 steps need 5 of it: at most "
            "clients=1 fits 5 steps");
  EXPECT_EQ(Complaint(data, {.split = Split::kSite, .clients = 2, .steps = 50}),
            "site \"s1\" of \"numbers\" has 0 rows, but 2 clients x 50 steps need 50 of it: choose "
            "fewer clients and fewer steps, or give more rows");
  for (const double share : {0.0, -1.0, 1.0001, std::nan("")}) {
    EXPECT_EQ(Complaint(Numbered(40, 2), {.split = Split::kSite, .major_share = share}),
              "the share of rows from a client's own site must be above 0 and at most 1");
  }
}

}  // namespace
}  // namespace polykern
