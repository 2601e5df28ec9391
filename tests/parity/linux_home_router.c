/*
 * home-router in a whole Linux kernel: the first process of a kernel in virtual time (see linux_home_router.py).
 *
 * Three namespaces h1 - router - h2, and a shaper with a queue at each of the four devices between them, as Mininet sets them up.
 * So the hosts' own queues are the kernel's, and TCP Small Queues act. One process sends and receives everything: a long flow and
 * pings from h1 to h2, and pages.
 *
 * Reads `request.json`, an object whose values are strings. Writes `runs`, a line each for a finished ping ("ping START RTT"), a
 * finished page ("page START TIME LOST", where LOST says whether a SYN was lost) and a look at the long flow ("srtt TIME RTT"),
 * in seconds, and at its end "end".
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define PAGE (200 + 177669)
#define REQUEST 80
#define WRITE (256 * 1024)
#define READ (64 * 1024)
/* SO_RCVBUF as iperf sets it. The kernel reserves twice as much. */
#define RECEIVE_BUFFER 16000000
#define SLOW_LINK 1
#define PING_ID 77
#define PINGS 4096

enum { H1, ROUTER, H2, NAMESPACES };

/* The set-up, as the request has it. */
static struct {
	double rate, delay, seconds, interval;
	int maxq, segments, reverse, after, window, cached, bulk, clean, tso_rtt_log, send_buffer;
	char cca[32];
} asked;

static int namespaces[NAMESPACES];
static int events;
static FILE *runs;
static char bytes[WRITE];

static void fail(const char *what)
{
	FILE *error = fopen("/o/error", "w");

	if (error) {
		fprintf(error, "%s: %s\n", what, strerror(errno));
		fclose(error);
	}
	sync();
	reboot(RB_POWER_OFF);
}

static int must(int result, const char *what)
{
	if (result < 0)
		fail(what);
	return result;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

/* A number from 0 to 1, from the kernel's seeded generator. */
static double uniform(void)
{
	uint64_t number;

	must(getrandom(&number, sizeof number, 0), "getrandom");
	return (number >> 11) * 0x1p-53;
}

/* A time of this many seconds, varied by 5 %. */
static uint64_t varied(double seconds)
{
	return seconds * (0.95 + 0.1 * uniform()) * SECOND;
}

static void set(const char *path, const char *format, ...)
{
	char text[64];
	va_list list;
	int file = must(open(path, O_WRONLY), path);

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	must(write(file, text, strlen(text)), path);
	close(file);
}

static void enter(int namespace)
{
	must(setns(namespaces[namespace], CLONE_NEWNET), "setns");
}

/* Runs a program in a namespace. */
static void run(int namespace, const char *format, ...)
{
	char line[256], copy[256], *words[32];
	int status, count = 0;
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof line, format, list);
	va_end(list);
	strcpy(copy, line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		words[count++] = word;
	words[count] = NULL;
	enter(namespace);
	if (fork() == 0) {
		execv(words[0], words);
		_exit(127);
	}
	wait(&status);
	if (status)
		fail(line);
}

static void read_request(void)
{
	char key[32], value[32];
	FILE *file = fopen("/o/request.json", "r");

	if (!file)
		fail("request.json");
	while (fscanf(file, "%*[{, ]\"%31[^\"]\": \"%31[^\"]\"", key, value) == 2) {
		const struct { const char *key; double *number; } numbers[] = {
			{"rate", &asked.rate}, {"delay", &asked.delay}, {"seconds", &asked.seconds}, {"interval", &asked.interval},
		};
		const struct { const char *key; int *number; } integers[] = {
			{"maxq", &asked.maxq}, {"segments", &asked.segments}, {"reverse", &asked.reverse}, {"after", &asked.after},
			{"window", &asked.window}, {"cached", &asked.cached}, {"bulk", &asked.bulk}, {"clean", &asked.clean},
			{"tso_rtt_log", &asked.tso_rtt_log}, {"send_buffer", &asked.send_buffer},
		};
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
			if (!strcmp(key, numbers[i].key))
				*numbers[i].number = atof(value);
		for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
			if (!strcmp(key, integers[i].key))
				*integers[i].number = atoi(value);
		if (!strcmp(key, "cca"))
			strcpy(asked.cca, value);
	}
	fclose(file);
}

static void mount_all(void)
{
	const char *kinds[][2] = {{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}};

	for (int i = 0; i < 3; i++) {
		mkdir(kinds[i][1], 0755);
		must(mount("none", kinds[i][1], kinds[i][0], 0, ""), kinds[i][1]);
	}
	mkdir("/o", 0755);
	must(mount("none", "/o", "hostfs", 0, "/proc/self/cwd"), "hostfs");
}

static void make_namespaces(void)
{
	for (int i = 0; i < NAMESPACES; i++) {
		must(unshare(CLONE_NEWNET), "unshare");
		namespaces[i] = must(open("/proc/self/ns/net", O_RDONLY), "namespace");
		set("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
		set("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
		set("/proc/sys/net/ipv4/tcp_tso_rtt_log", "%d", asked.tso_rtt_log);
		set("/proc/sys/net/ipv4/tcp_no_ssthresh_metrics_save", "%d", !asked.cached);
		set("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 %d", asked.send_buffer);
	}
	enter(ROUTER);
	set("/proc/sys/net/ipv4/ip_forward", "1");
}

/* A device at one end of a link. */
struct device {
	int namespace;
	const char *name;
	/* The third and the last byte of its address, which its MAC address has, too. */
	int network, host;
	double rate;
};

static void switch_offload_off(const struct device *device)
{
	const uint32_t kinds[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO};
	int handle = must(socket(AF_INET, SOCK_DGRAM, 0), "socket");
	struct ifreq request = {0};

	strcpy(request.ifr_name, device->name);
	for (int i = 0; i < 3; i++) {
		struct ethtool_value value = {.cmd = kinds[i]};
		request.ifr_data = (void *)&value;
		must(ioctl(handle, SIOCETHTOOL, &request), "ethtool");
	}
	close(handle);
}

static void set_up(const struct device *device, const struct device *peer)
{
	int namespace = device->namespace;
	const char *name = device->name;

	run(namespace, "/bin/ip link set %s address 02:00:00:00:%02x:%02x", name, device->network, device->host);
	run(namespace, "/bin/ip addr add 10.0.%d.%d/24 dev %s", device->network, device->host, name);
	if (asked.segments)
		run(namespace, "/bin/ip link set %s gso_max_segs %d", name, asked.segments);
	if (asked.segments == 1)
		switch_offload_off(device);
	run(namespace, "/bin/ip link set %s up", name);
	run(namespace, "/bin/ip neigh replace 10.0.%d.%d lladdr 02:00:00:00:%02x:%02x nud permanent dev %s", peer->network,
	    peer->host, peer->network, peer->host, name);
	if (namespace != ROUTER)
		run(namespace, "/bin/ip route add default via 10.0.%d.%d initcwnd %d", peer->network, peer->host, asked.window);
}

/* Mininet's shaper and queue, or those of the set-ups that are called clean: only the slow link has a shaper, and the delay is on the fast one. */
static void shape(const struct device *device, int is_slow)
{
	const char *name = device->name;
	int namespace = device->namespace;

	if (asked.clean && !is_slow) {
		run(namespace, "/bin/tc qdisc add dev %s root netem delay %gms limit 200000", name, 2 * asked.delay);
		return;
	}
	run(namespace, "/bin/tc qdisc add dev %s root handle 1: htb default 1", name);
	run(namespace, "/bin/tc class add dev %s parent 1: classid 1:1 htb rate %gmbit burst %d cburst 1600", name, device->rate,
	    asked.clean ? 1600 : 15 * 1024);
	if (asked.clean)
		run(namespace, "/bin/tc qdisc add dev %s parent 1:1 pfifo limit %d", name, asked.maxq);
	else if (asked.delay > 0)
		run(namespace, "/bin/tc qdisc add dev %s parent 1:1 netem delay %gms limit %d", name, asked.delay, asked.maxq);
	else
		run(namespace, "/bin/tc qdisc add dev %s parent 1:1 netem limit %d", name, asked.maxq);
}

static void make_network(void)
{
	const struct device links[2][2] = {
		{{H1, "fast0", 1, 1, 1000}, {ROUTER, "fast1", 1, 2, 1000}},
		{{H2, "slow0", 2, 1, asked.rate}, {ROUTER, "slow1", 2, 2, asked.rate}},
	};

	for (int i = 0; i < 2; i++) {
		const struct device *host = &links[i][0], *router = &links[i][1];
		run(ROUTER, "/bin/ip link add %s type veth peer name %s", router->name, host->name);
		run(ROUTER, "/bin/ip link set %s netns /proc/%d/fd/%d", host->name, getpid(), namespaces[host->namespace]);
		set_up(router, host);
		set_up(host, router);
		shape(router, i == SLOW_LINK);
		shape(host, i == SLOW_LINK);
	}
}

enum kind { TIMER, PING, BULK_LISTENER, PAGE_LISTENER, SENDER, RECEIVER, SERVER, CLIENT };

/* A socket. `left` is what a server must still send; a client that has sent its request is `ready`. */
struct side {
	enum kind kind;
	int handle, ready, syn_lost;
	size_t left;
	uint64_t start;
};

static struct side *add(enum kind kind, int handle, uint32_t interest)
{
	struct side *side = calloc(1, sizeof *side);
	struct epoll_event event = {.events = interest, .data.ptr = side};

	side->kind = kind;
	side->handle = handle;
	must(epoll_ctl(events, EPOLL_CTL_ADD, handle, &event), "epoll_ctl");
	return side;
}

static void want(struct side *side, uint32_t interest)
{
	struct epoll_event event = {.events = interest, .data.ptr = side};

	must(epoll_ctl(events, EPOLL_CTL_MOD, side->handle, &event), "epoll_ctl");
}

static void drop(struct side *side)
{
	close(side->handle);
	free(side);
}

static struct sockaddr_in address(const char *text, int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	inet_pton(AF_INET, text, &address.sin_addr);
	return address;
}

static int tcp_socket(int namespace)
{
	int handle;

	enter(namespace);
	handle = must(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");
	must(setsockopt(handle, IPPROTO_TCP, TCP_CONGESTION, asked.cca, strlen(asked.cca)), "TCP_CONGESTION");
	return handle;
}

static void listen_at(enum kind kind, int namespace, int port)
{
	int handle = tcp_socket(namespace), size = RECEIVE_BUFFER;
	struct sockaddr_in here = address("0.0.0.0", port);

	if (kind == BULK_LISTENER)
		must(setsockopt(handle, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size), "SO_RCVBUFFORCE");
	must(bind(handle, (struct sockaddr *)&here, sizeof here), "bind");
	must(listen(handle, 16), "listen");
	add(kind, handle, EPOLLIN);
}

static struct side *connect_to(enum kind kind, int namespace, const char *text, int port)
{
	int handle = tcp_socket(namespace);
	struct sockaddr_in there = address(text, port);

	if (connect(handle, (struct sockaddr *)&there, sizeof there) && errno != EINPROGRESS)
		fail("connect");
	return add(kind, handle, EPOLLOUT);
}

static struct tcp_info info_of(const struct side *side)
{
	struct tcp_info info;
	socklen_t size = sizeof info;

	must(getsockopt(side->handle, IPPROTO_TCP, TCP_INFO, &info, &size), "TCP_INFO");
	return info;
}

static struct {
	uint64_t start, end, next_ping, next_page, next_look;
	uint64_t sent[PINGS];
	unsigned pings;
	int ping;
	struct side *bulk, *page;
} run_of;

static double since_start(uint64_t time)
{
	return (time - run_of.start) / (double)SECOND;
}

/* The checksum of a message whose other bytes are zero (RFC 792). */
static uint16_t checksum(const struct icmphdr *header)
{
	const uint16_t *words = (const uint16_t *)header;
	uint32_t sum = words[0] + words[2] + words[3];

	return ~(sum + (sum >> 16));
}

static void send_ping(uint64_t time)
{
	struct sockaddr_in there = address("10.0.2.1", 0);
	struct {
		struct icmphdr header;
		char payload[56];
	} message = {.header = {.type = ICMP_ECHO, .un.echo = {PING_ID, run_of.pings}}};

	message.header.checksum = checksum(&message.header);
	run_of.sent[run_of.pings++ % PINGS] = time;
	/* The host's own queue may drop it. */
	if (sendto(run_of.ping, &message, sizeof message, 0, (struct sockaddr *)&there, sizeof there) < 0 && errno != ENOBUFS)
		fail("ping");
}

static void take_pings(void)
{
	struct {
		char ip[20];
		struct icmphdr header;
		char payload[64];
	} reply;

	while (recv(run_of.ping, &reply, sizeof reply, 0) > 0)
		if (reply.header.type == ICMP_ECHOREPLY && reply.header.un.echo.id == PING_ID) {
			uint64_t sent = run_of.sent[reply.header.un.echo.sequence % PINGS];
			fprintf(runs, "ping %.6f %.9f\n", since_start(sent), (now() - sent) / (double)SECOND);
		}
}

static void request_page(uint64_t time)
{
	run_of.page = connect_to(CLIENT, asked.reverse ? H1 : H2, asked.reverse ? "10.0.2.1" : "10.0.1.1", 80);
	run_of.page->start = time;
	if (!asked.after)
		run_of.next_page = time + varied(asked.interval);
}

static void on_client(struct side *side)
{
	ssize_t got;

	if (!side->ready) {
		side->ready = 1;
		side->syn_lost = info_of(side).tcpi_total_retrans > 0;
		must(send(side->handle, bytes, REQUEST, 0), "request");
		want(side, EPOLLIN);
		return;
	}
	do
		got = recv(side->handle, bytes, sizeof bytes, 0);
	while (got > 0);
	if (got == 0) {
		uint64_t time = now();
		fprintf(runs, "page %.6f %.9f %d\n", since_start(side->start), (time - side->start) / (double)SECOND, side->syn_lost);
		if (asked.after)
			run_of.next_page = time + varied(asked.interval);
		drop(side);
		run_of.page = NULL;
	}
}

static void on_server(struct side *side)
{
	if (!side->ready) {
		if (recv(side->handle, bytes, sizeof bytes, 0) < REQUEST)
			return;
		side->ready = 1;
		side->left = PAGE;
		want(side, EPOLLOUT);
	}
	while (side->left) {
		ssize_t sent = send(side->handle, bytes, side->left, MSG_NOSIGNAL);
		if (sent < 0)
			return;
		side->left -= sent;
	}
	drop(side);
}

static void take(struct side *side)
{
	int least = READ;
	uint64_t count;

	switch (side->kind) {
	case TIMER:
		must(read(side->handle, &count, sizeof count), "timer");
		break;
	case PING:
		take_pings();
		break;
	case BULK_LISTENER:
		side = add(RECEIVER, must(accept4(side->handle, NULL, NULL, SOCK_NONBLOCK), "accept"), EPOLLIN);
		must(setsockopt(side->handle, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least), "SO_RCVLOWAT");
		break;
	case PAGE_LISTENER:
		add(SERVER, must(accept4(side->handle, NULL, NULL, SOCK_NONBLOCK), "accept"), EPOLLIN);
		break;
	case SENDER:
		/* One write each time that the kernel says there is room. */
		if (send(side->handle, bytes, sizeof bytes, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
			fail("send");
		break;
	case RECEIVER:
		while (recv(side->handle, NULL, 1 << 24, MSG_TRUNC) > 0)
			;
		break;
	case SERVER:
		on_server(side);
		break;
	case CLIENT:
		on_client(side);
		break;
	}
}

/* Does what is due. Returns the time of what is due next. */
static uint64_t do_due(uint64_t time)
{
	uint64_t next;

	if (time >= run_of.next_ping) {
		send_ping(time);
		run_of.next_ping = time + (0.09 + 0.02 * uniform()) * SECOND;
	}
	if (time >= run_of.next_page && !run_of.page)
		request_page(time);
	if (time >= run_of.next_look) {
		if (run_of.bulk)
			fprintf(runs, "srtt %.6f %.6f\n", since_start(time), info_of(run_of.bulk).tcpi_rtt * 1e-6);
		run_of.next_look += SECOND / 10;
	}
	next = run_of.next_ping < run_of.next_look ? run_of.next_ping : run_of.next_look;
	return run_of.page || next < run_of.next_page ? next : run_of.next_page;
}

static void make_run(void)
{
	int timer = must(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");

	events = must(epoll_create1(0), "epoll_create1");
	listen_at(BULK_LISTENER, H2, 5001);
	listen_at(PAGE_LISTENER, asked.reverse ? H2 : H1, 80);
	enter(H1);
	run_of.ping = must(socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_ICMP), "socket");
	add(PING, run_of.ping, EPOLLIN);
	add(TIMER, timer, EPOLLIN);
	run_of.start = now();
	run_of.end = run_of.start + asked.seconds * SECOND;
	run_of.next_ping = run_of.start;
	run_of.next_look = run_of.start + SECOND / 10;
	run_of.next_page = run_of.start + (5 + 0.5 * uniform()) * SECOND;
	if (asked.bulk)
		run_of.bulk = connect_to(SENDER, H1, "10.0.2.1", 5001);
	for (uint64_t time = now(); time < run_of.end; time = now()) {
		uint64_t next = do_due(time);
		struct itimerspec at = {.it_value = {next / SECOND, next % SECOND}};
		struct epoll_event ready[16];
		int count;

		must(timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL), "timerfd_settime");
		count = must(epoll_wait(events, ready, 16, -1), "epoll_wait");
		for (int i = 0; i < count; i++)
			take(ready[i].data.ptr);
	}
}

int main(void)
{
	mount_all();
	read_request();
	runs = fopen("/o/runs", "w");
	if (!runs)
		fail("runs");
	make_namespaces();
	make_network();
	make_run();
	fprintf(runs, "end\n");
	fclose(runs);
	sync();
	reboot(RB_POWER_OFF);
}
