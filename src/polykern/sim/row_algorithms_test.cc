#include <string>
#include <vector>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/exact_sum.h"
#include "polykern/data/synthetic.h"
#include "polykern/io/folder_testing.h"
#include "polykern/sim/row_algorithms_internal.h"
#include "polykern/sim/simulation.h"

namespace polykern {
namespace {

using testing::HasSubstr;

Row RowOf(const std::string& name) {
  Row row;
  row.algorithm = name;
  row.options.kernels = 9;
  return row;
}

std::string RefusalOf(const Row& row, std::size_t clients) {
  const SyntheticFleet stream({.clients = clients, .steps = 8});
  return MessageOf([&] { MakeAlgorithms({row}, stream, 1); });
}

TEST(RowAlgorithms, AreThoseOfTheRows) {
  const SyntheticFleet stream({.clients = 5, .steps = 8});
  const auto made = MakeAlgorithms({RowOf("vm-kofl"), RowOf("pof-mkl")}, stream, 1);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0]->name(), "vm-kofl");
  EXPECT_EQ(made[1]->name(), "pof-mkl");
}

TEST(RowAlgorithms, StayWithinTheBudget) {
  Row row = RowOf("pof-mkl");
  row.options.budget = 100;
  EXPECT_NO_THROW(CheckBudget(row, {}, 100));
  EXPECT_EQ(MessageOf([&] { CheckBudget(row, {}, 101); }),
            "budget is 100, but a client of pof-mkl sends 101 numbers in a step");
}

TEST(RowAlgorithms, HaveNoMoreClientsThanSumsHold) {
  EXPECT_EQ(RefusalOf(RowOf("pof-mkl"), ExactSum::kMostTerms + 1),
            "1073741824 clients are too many: at most 1073741823 fit into one step; lower clients");
  EXPECT_EQ(RefusalOf(RowOf("pof-newton"), std::size_t{1} << 24),
            "16777216 clients are too many: at most 16777215 fit into one step; lower clients");
  EXPECT_THAT(RefusalOf(RowOf("pof-gram"), std::size_t{1} << 24),
              HasSubstr("at most 1048575 fit into one step; lower clients, or most_samples"));
}

TEST(RowAlgorithms, WithSumsOverClientsHaveSmallerNumbersForMore) {
  const SyntheticFleet stream({.clients = 5, .steps = 8});
  for (const std::string_view name : AlgorithmNames()) {
    const auto algorithm = MakeFor(RowOf(std::string(name)), stream, 1, 0);
    const bool fits = name != "pof-newton" && name != "pof-gram";
    EXPECT_THAT(MessageOf([&] { CheckClients(*algorithm, ExactSum::kMaxTerms + 1); }),
                HasSubstr(fits ? "no Error was thrown" : "clients are too many"))
        << name;
  }
}

}  // namespace
}  // namespace polykern
