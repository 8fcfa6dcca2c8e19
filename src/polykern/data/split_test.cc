#include "polykern/data/split.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/core/random.h"
#include "polykern/data/split_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

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

}  // namespace
}  // namespace polykern
