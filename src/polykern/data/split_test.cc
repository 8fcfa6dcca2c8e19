#include "polykern/data/split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

/// One input that holds the row's number; rows are spread over the sites in runs.
std::shared_ptr<Dataset> Numbered(std::size_t rows_per_site, std::size_t sites = 1) {
  auto data = std::make_shared<Dataset>();
  data->name = "numbers";
  data->dimension = 1;
  for (std::size_t i = 0; i < rows_per_site * sites; ++i) {
    data->x.push_back(static_cast<float>(i));
    data->y.push_back(static_cast<double>(i) + 0.5);
    data->site.push_back(static_cast<std::uint32_t>(i / rows_per_site));
  }
  for (std::size_t s = 0; s < sites; ++s) data->site_names.push_back("s" + std::to_string(s));
  return data;
}

std::multiset<std::uint32_t> UsedRows(const TableStream& stream) {
  std::multiset<std::uint32_t> used;
  for (std::size_t step = 0; step < stream.steps(); ++step) {
    for (std::size_t client = 0; client < stream.clients(); ++client) {
      const std::uint32_t row = stream.RowOf(step, client);
      if (row != TableStream::kAbsent) used.insert(row);
    }
  }
  return used;
}

void ExpectNoRowTwice(const TableStream& stream) {
  const std::multiset<std::uint32_t> used = UsedRows(stream);
  EXPECT_EQ(std::set<std::uint32_t>(used.begin(), used.end()).size(), used.size());
  EXPECT_LT(*used.rbegin(), stream.data().rows());
}

std::string Complaint(std::shared_ptr<const Dataset> data, const SplitOptions& options) {
  return MessageOf([&] { Deal(std::move(data), options); });
}

TEST(Split, DealsEveryRowAtMostOnce) {
  const auto stream = Deal(Numbered(103), {.clients = 10, .steps = 10});
  EXPECT_EQ(stream->clients(), 10U);
  EXPECT_EQ(stream->steps(), 10U);
  EXPECT_EQ(UsedRows(*stream).size(), 100U);
  ExpectNoRowTwice(*stream);
  EXPECT_THAT(stream->site_names(), ElementsAre("all"));
}

TEST(Split, DependsOnTheSeedAlone) {
  const auto data = Numbered(100);
  const auto rows = [&](std::uint64_t seed) {
    const auto stream = Deal(data, {.clients = 10, .steps = 10, .seed = seed});
    std::vector<std::uint32_t> list;
    for (std::size_t i = 0; i < 100; ++i) list.push_back(stream->RowOf(i / 10, i % 10));
    return list;
  };
  EXPECT_EQ(rows(1), rows(1));
  EXPECT_NE(rows(1), rows(2));
}

TEST(Split, ReadsTheRowsItDealt) {
  const auto stream = Deal(Numbered(100), {.clients = 10, .steps = 10});
  SampleBlock block;
  stream->Read(3, 2, 5, block);
  ASSERT_EQ(block.y.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const std::uint32_t row = stream->RowOf(3, 2 + i);
    EXPECT_EQ(block.x[i], static_cast<float>(row));
    EXPECT_EQ(block.y[i], row + 0.5);
    EXPECT_EQ(block.present[i], 1);
  }
}

TEST(Split, KeepsTheRowsOfSomeClientsAlone) {
  const auto stream = Deal(Numbered(100), {.clients = 10, .steps = 10});
  const auto only = stream->Only(3, 4);
  ASSERT_NE(only, nullptr);
  EXPECT_EQ(only->clients(), 10U);
  EXPECT_EQ(only->steps(), 10U);
  EXPECT_EQ(dynamic_cast<const TableStream&>(*only).data().rows(), 40U);
  SampleBlock all;
  SampleBlock some;
  for (std::size_t step = 0; step < 10; ++step) {
    stream->Read(step, 4, 3, all);
    only->Read(step, 4, 3, some);
    EXPECT_EQ(some.x, all.x);
    EXPECT_EQ(some.y, all.y);
  }
  EXPECT_EQ(stream->Only(0, 10), nullptr);
  EXPECT_EQ(stream->Only(5, 0)->steps(), 10U);
}

TEST(Split, ChoosesWhatIsLeftOpen) {
  const auto shape = [](std::size_t rows, std::size_t clients, std::size_t steps) {
    const auto stream = Deal(Numbered(rows), {.clients = clients, .steps = steps});
    return std::pair(stream->clients(), stream->steps());
  };
  using Shape = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(shape(103, 10, 0), Shape(10, 10));
  EXPECT_EQ(shape(103, 0, 20), Shape(5, 20));
  EXPECT_EQ(shape(6200, 0, 0), Shape(12, 500));
  EXPECT_EQ(shape(4999, 0, 0), Shape(10, 499));
  EXPECT_EQ(shape(3, 0, 0), Shape(3, 1));
}

TEST(Split, SaysWhatWouldFit) {
  EXPECT_EQ(Complaint(Numbered(100), {.clients = 20, .steps = 10}),
            "\"numbers\" has 100 rows, but 20 clients x 10 steps need 200: at most steps=5 fits "
            "20 clients, at most clients=10 fits 10 steps");
  EXPECT_THAT(Complaint(Numbered(100), {.clients = 1000}), EndsWith("choose at most 100"));
  EXPECT_THAT(Complaint(Numbered(100), {.steps = 101}),
              HasSubstr("has 100 rows, but steps is 101, and no row is used twice"));
}

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

TEST(Split, GivesEachClientARunOfRowsInAnotherOrder) {
  const auto stream = Deal(Numbered(1000), {.split = Split::kRuns, .clients = 9, .steps = 100});
  for (std::size_t client = 0; client < 9; ++client) {
    std::set<std::size_t> rows;
    std::size_t in_place = 0;
    for (std::size_t step = 0; step < 100; ++step) {
      rows.insert(stream->RowOf(step, client));
      in_place += stream->RowOf(step, client) == 100 * client + step ? 1 : 0;
    }
    EXPECT_EQ(rows.size(), 100U);
    EXPECT_EQ(*rows.begin(), 100 * client);
    EXPECT_EQ(*rows.rbegin(), 100 * client + 99);
    EXPECT_LT(in_place, 10U);  // one is expected
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

std::shared_ptr<Dataset> Owned() {
  auto data = Numbered(3, 2);
  data->client = {1, 0, 1, 1, 0, 2};
  data->client_names = {"ann", "bob", "cid"};
  return data;
}

TEST(Split, GivesEveryClientItsOwnRowsInOrder) {
  const auto stream = Deal(Owned(), {.split = Split::kColumn});
  EXPECT_EQ(stream->clients(), 3U);
  EXPECT_EQ(stream->steps(), 3U);
  EXPECT_EQ(stream->RowOf(0, 1), 0U);
  EXPECT_EQ(stream->RowOf(1, 1), 2U);
  EXPECT_EQ(stream->RowOf(2, 1), 3U);
  EXPECT_EQ(stream->RowOf(1, 0), 4U);
  EXPECT_EQ(stream->SiteOf(1), 0U);
  EXPECT_EQ(stream->SiteOf(2), 1U);
  EXPECT_EQ(stream->ClientName(1), "bob");
  ExpectNoRowTwice(*stream);
}

TEST(Split, MarksAClientThatHasNoMoreRowsAsAbsent) {
  const auto stream = Deal(Owned(), {.split = Split::kColumn});
  SampleBlock block;
  stream->Read(1, 0, 3, block);
  EXPECT_THAT(block.present, ElementsAre(1, 1, 0));
  EXPECT_THAT(block.x, ElementsAre(4, 2, 0));
  EXPECT_THAT(block.y, ElementsAre(4.5, 2.5, 0));
}

TEST(Split, LimitsClientsAndStepsOfAColumn) {
  const auto stream = Deal(Owned(), {.split = Split::kColumn, .clients = 2, .steps = 1});
  EXPECT_EQ(stream->clients(), 2U);
  EXPECT_EQ(stream->steps(), 1U);
  EXPECT_THAT(Complaint(Owned(), {.split = Split::kColumn, .clients = 4}),
              EndsWith("has rows of 3 clients, but clients is 4; choose at most 3"));
  EXPECT_THAT(Complaint(Owned(), {.split = Split::kColumn, .steps = 4}),
              EndsWith("has 3 rows, but steps is 4; choose at most 3"));
  EXPECT_THAT(Complaint(Numbered(9), {.split = Split::kColumn}), HasSubstr("no client column"));
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

TEST(Split, DealsTheSameRowsOfARunWhateverTheSeed) {
  const auto rows_of_first = [](std::uint64_t seed) {
    const auto stream =
        Deal(Numbered(100), {.split = Split::kRuns, .clients = 4, .steps = 20, .seed = seed});
    std::vector<std::uint32_t> rows;
    for (std::size_t step = 0; step < 20; ++step) rows.push_back(stream->RowOf(step, 1));
    return rows;
  };
  auto one = rows_of_first(1);
  auto two = rows_of_first(2);
  EXPECT_NE(one, two);
  std::ranges::sort(one);
  std::ranges::sort(two);
  EXPECT_EQ(one, two);
  EXPECT_EQ(one.front(), 20U);
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

TEST(Split, OfAColumnGivesEveryClientWhatASlowPassCollects) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed, Purpose::kTest);
    const auto data = Numbered(1 + random.Below(30));
    const std::size_t clients = 1 + random.Below(5);
    std::vector<std::vector<std::uint32_t>> expected;
    std::vector<std::uint32_t> code(clients, TableStream::kAbsent);  // as they first appear
    for (std::uint32_t row = 0; row < data->rows(); ++row) {
      std::uint32_t& mine = code[random.Below(clients)];
      if (mine == TableStream::kAbsent) {
        mine = static_cast<std::uint32_t>(expected.size());
        expected.emplace_back();
        data->client_names.push_back("u" + std::to_string(mine));
      }
      data->client.push_back(mine);
      expected[mine].push_back(row);
    }
    const auto stream = Deal(data, {.split = Split::kColumn});
    ASSERT_EQ(stream->clients(), expected.size());
    for (std::size_t client = 0; client < expected.size(); ++client) {
      for (std::size_t step = 0; step < stream->steps(); ++step) {
        EXPECT_EQ(stream->RowOf(step, client),
                  step < expected[client].size() ? expected[client][step] : TableStream::kAbsent);
      }
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
