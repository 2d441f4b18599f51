/* All of the runtime, as one shared library. */
#include "steps/steps.c"
#include "contacts/contacts.c"
