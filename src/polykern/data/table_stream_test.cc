#include "polykern/data/table_stream.h"

#include <gmock/gmock.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::Each;
using testing::ElementsAre;

/// Rows of two inputs that name the row: x = (r, -r), y = r / 8.
std::shared_ptr<const Dataset> NamedRows(std::size_t rows) {
  auto data = std::make_shared<Dataset>();
  data->dimension = 2;
  for (std::size_t row = 0; row < rows; ++row) {
    data->x.insert(data->x.end(), {static_cast<float>(row), -static_cast<float>(row)});
    data->y.push_back(static_cast<double>(row) / 8);
  }
  return data;
}

/// Any rows, also one twice, and absent clients in between.
TableStream RandomStream(std::uint64_t seed, std::size_t clients, std::size_t steps) {
  Random random(seed, Purpose::kTest);
  std::vector<std::uint32_t> index(clients * steps);
  for (std::uint32_t& row : index) {
    const auto drawn = static_cast<std::uint32_t>(random.Below(30));
    row = drawn < 20 ? drawn : TableStream::kAbsent;
  }
  std::vector<std::uint32_t> site_of(clients);
  for (std::uint32_t& site : site_of) site = static_cast<std::uint32_t>(random.Below(2));
  return {NamedRows(20), index, site_of, {"north", "south"}};
}

TEST(TableStream, GivesEveryClientItsRowOfTheIndex) {
  const TableStream stream = RandomStream(1, 7, 9);
  ASSERT_EQ(stream.clients(), 7U);
  ASSERT_EQ(stream.steps(), 9U);
  SampleBlock block;
  for (std::size_t step = 0; step < 9; ++step) {
    for (std::size_t first = 0; first < 7; ++first) {
      const std::size_t count = 7 - first;
      stream.Read(step, first, count, block);
      ASSERT_EQ(block.x.size(), 2 * count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t row = stream.RowOf(step, first + i);
        const bool there = row != TableStream::kAbsent;
        EXPECT_EQ(block.present[i], there ? 1 : 0);
        EXPECT_EQ(block.x[2 * i], there ? static_cast<float>(row) : 0);
        EXPECT_EQ(block.x[2 * i + 1], there ? -static_cast<float>(row) : 0);
        EXPECT_EQ(block.y[i], there ? row / 8.0 : 0);
      }
    }
  }
}

TEST(TableStream, LeavesNothingOfAnEarlierReadInTheBlock) {
  const TableStream stream(NamedRows(4), {3, 2, TableStream::kAbsent, 1}, {0, 0}, {"all"});
  SampleBlock block;
  stream.Read(0, 0, 2, block);
  stream.Read(1, 0, 1, block);
  EXPECT_THAT(block.x, ElementsAre(0, 0));
  EXPECT_THAT(block.y, ElementsAre(0));
  EXPECT_THAT(block.present, ElementsAre(0));
  stream.Read(1, 2, 0, block);
  EXPECT_TRUE(block.x.empty() && block.y.empty() && block.present.empty());
}

TEST(TableStream, OfSomeClientsHoldsTheirSamplesAloneAndReadsTheSame) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const TableStream stream = RandomStream(seed, 6, 5);
    Random random(seed, Purpose::kTest, 1);
    const std::size_t first = random.Below(6);
    const std::size_t count = first == 0 ? 5 : 1 + random.Below(6 - first);
    const auto only = stream.Only(first, count);
    ASSERT_NE(only, nullptr);
    EXPECT_EQ(only->clients(), 6U);
    std::size_t samples = 0;
    SampleBlock all;
    SampleBlock some;
    for (std::size_t step = 0; step < 5; ++step) {
      for (std::size_t client = first; client < first + count; ++client) {
        stream.Read(step, client, 1, all);
        only->Read(step, client, 1, some);
        EXPECT_EQ(some.x, all.x);
        EXPECT_EQ(some.y, all.y);
        EXPECT_EQ(some.present, all.present);
        EXPECT_EQ(only->SiteOf(client), stream.SiteOf(client));
        samples += all.present[0];
      }
    }
    EXPECT_EQ(dynamic_cast<const TableStream&>(*only).data().rows(), samples);
    const auto fewer = only->Only(first + count - 1, 1);  // and of these, one alone
    fewer->Read(4, first + count - 1, 1, some);
    EXPECT_EQ(some.x, all.x);
    EXPECT_EQ(some.present, all.present);
  }
}

TEST(TableStream, NamesClientsAndStepsAndUnscalesLabels) {
  auto data = std::make_shared<Dataset>(*NamedRows(4));
  data->scale.kind = Scaling::kRange;
  data->scale.target = {10, 30};
  TableStream stream(data, {0, 1, 2, 3}, {0, 0}, {"all"});
  EXPECT_EQ(stream.ClientName(1), "1");
  EXPECT_EQ(stream.TimeOf(1), "2");  // steps count from 1
  stream.SetClientNames({"ann", "bob"});
  stream.SetTimes({1794817800, 1794817860});
  const auto only = stream.Only(1, 1);
  for (const Stream* one : {static_cast<const Stream*>(&stream), only.get()}) {
    EXPECT_EQ(one->ClientName(1), "bob");
    EXPECT_EQ(one->TimeOf(1), "2026-11-16 08:31");
    EXPECT_EQ(one->InOwnUnit(0.25), 15);
  }
}

TEST(TableStream, OfAllClientsHasNothingToSave) {
  EXPECT_EQ(RandomStream(3, 6, 5).Only(0, 6), nullptr);
}

}  // namespace
}  // namespace polykern
