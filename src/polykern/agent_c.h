#ifndef POLYKERN_AGENT_C_H
#define POLYKERN_AGENT_C_H

/* clang-format off: the example keeps its lines */
/* An agent of a federation for programs in C, and whatever can call C: it predicts at once, learns
 * when the label comes, and stays connected to the server without help. Inputs and labels are in
 * the units that the server declares.
 *
 *   polykern_agent* agent = NULL;
 *   const polykern_agent_options options = {.server = "learn.example.org:7433",
 *                                           .certificates = "station-7",
 *                                           .state = "station-7.state"};
 *   if (polykern_agent_open(&options, &agent) != POLYKERN_OK) puts(polykern_error_text());
 *   polykern_agent_predict(agent, inputs, 2, 10, &prediction);
 *   polykern_agent_learn(agent, label);
 *   polykern_agent_close(agent, 10);
 *
 * Link what `pkg-config --cflags --libs polykern-agent` says, or polykern::net_c in CMake, with
 * project(... C CXX) and find_package(polykern). No exception leaves a call. Different agents may
 * be used by different threads at the same time, one agent by one thread. Federations that ask for
 * texts, times, predictions several steps ahead, or ranges that are learnt need the program
 * polykern-agent: POLYKERN_REFUSED says so. */
/* clang-format on */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a call came to. polykern_error_text() says why, but for POLYKERN_OK. */
typedef enum polykern_result {
  POLYKERN_OK = 0,
  POLYKERN_NO_MODEL = 1, /* the server has not been met yet: try again */
  POLYKERN_NOT_LEARNT =
      2, /* the label is good, but its step was answered before, or the state cannot be written */
  POLYKERN_BAD_SAMPLE = 3, /* these inputs or this label cannot be used; the next may be */
  POLYKERN_REFUSED = 4,    /* an operator must act before this agent can take part */
  POLYKERN_WRONG_CALL = 5, /* a null pointer, or a label without a prediction before it */
  POLYKERN_FAILED = 6      /* anything else, such as no memory */
} polykern_result;

/* What is NULL or 0 is not given. */
typedef struct polykern_agent_options {
  const char* server;       /* HOST:PORT */
  const char* certificates; /* folder with ca.crt, client.crt and client.key (polykern pki issue) */
  const char* name;         /* without certificates, for trials: who this is */
  const char* state;        /* file for what must survive a restart; without it nothing does */
} polykern_agent_options;

typedef struct polykern_prediction {
  double value;  /* within the target range */
  uint64_t step; /* of the model it was made with */
} polykern_prediction;

typedef struct polykern_agent polykern_agent;

/* Makes an agent, which begins to look for its server; *agent is NULL unless it returns
 * POLYKERN_OK. */
polykern_result polykern_agent_open(const polykern_agent_options* options, polykern_agent** agent);

/* Predicts from `count` inputs, in the order of the server's columns; NAN is one that is missing,
 * if the server allows that. Waits at most so many seconds for a model that this agent has not
 * answered, so that the label will count; then it predicts with the newest one that it has.
 * POLYKERN_NO_MODEL only if there is none at all. */
polykern_result polykern_agent_predict(polykern_agent* agent, const double* inputs, size_t count,
                                       double seconds, polykern_prediction* prediction);

/* Learns from the label of the last prediction, once. After POLYKERN_BAD_SAMPLE it may be called
 * again. */
polykern_result polykern_agent_learn(polykern_agent* agent, double label);

/* Waits at most so many seconds until the server has counted the last label, and ends the agent.
 * NULL is allowed. */
void polykern_agent_close(polykern_agent* agent, double seconds);

/* Why this thread's last call did not return POLYKERN_OK: one line, of this thread, until its next
 * call. */
const char* polykern_error_text(void);

#ifdef __cplusplus
}
#endif

#endif
